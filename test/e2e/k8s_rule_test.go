package e2e

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// rule is something that workloads have to keep. Each of its breaks makes a
// workload that keeps it one that does not.
type rule struct {
	name   string
	of     func(workload) bool // which workloads; nil = all
	keeps  func(workload) bool
	breaks []func(workload)
}

func isJob(w workload) bool     { return w.job != nil }
func isCron(w workload) bool    { return w.cron != nil }
func isIndexed(w workload) bool { return w.job != nil && w.job.CompletionMode != nil }
func isSingle(w workload) bool  { return w.job != nil && w.job.CompletionMode == nil }
func isTemplate(w workload) bool {
	return w.component() == "backfill" || w.component() == "tools"
}
func isScheduled(w workload) bool { return isCron(w) && !isTemplate(w) }
func isDaemon(w workload) bool    { return w.daemon != nil } // any that stays
func isAPI(w workload) bool       { return w.component() == "api" }

func to[T any](v T) *T { return &v }

// is tells whether a field is set, and to what.
func is[T comparable](p *T, v T) bool { return p != nil && *p == v }

// within tells whether a field is set to something between two bounds.
func within[T int32 | int64](p *T, low, high T) bool { return p != nil && low <= *p && *p <= high }

// security is the container's security context; that of the pod holds where the
// container says nothing, so what it says must not be weaker.
func security(w workload) corev1.SecurityContext {
	if s := w.container().SecurityContext; s != nil {
		return *s
	}
	return corev1.SecurityContext{}
}

func podSecurity(w workload) corev1.PodSecurityContext {
	if s := w.pod.SecurityContext; s != nil {
		return *s
	}
	return corev1.PodSecurityContext{}
}

var podRules = []rule{
	{name: "has one container, reverie, and nothing beside it",
		keeps: func(w workload) bool { return w.container().Name == "reverie" },
		breaks: []func(workload){
			func(w workload) { w.pod.InitContainers = w.pod.Containers },
			func(w workload) { w.pod.Containers = append(w.pod.Containers, w.pod.Containers[0]) },
		}},
	{name: "runs as a numeric user that is not root",
		keeps: func(w workload) bool {
			s, p := security(w), podSecurity(w)
			return is(p.RunAsNonRoot, true) && within(p.RunAsUser, 1, 1<<31) && within(p.RunAsGroup, 1, 1<<31) &&
				s.RunAsNonRoot == nil && s.RunAsUser == nil && s.RunAsGroup == nil
		},
		breaks: []func(workload){
			func(w workload) { w.pod.SecurityContext.RunAsNonRoot = to(false) },
			func(w workload) { w.pod.SecurityContext.RunAsUser = to[int64](0) },
			func(w workload) { w.pod.Containers[0].SecurityContext.RunAsUser = to[int64](0) },
			func(w workload) { w.pod.Containers[0].SecurityContext.RunAsNonRoot = to(false) },
		}},
	{name: "has the seccomp profile of the container runtime",
		keeps: func(w workload) bool {
			p := podSecurity(w).SeccompProfile
			return p != nil && p.Type == corev1.SeccompProfileTypeRuntimeDefault && security(w).SeccompProfile == nil
		},
		breaks: []func(workload){
			func(w workload) {
				w.pod.SecurityContext.SeccompProfile.Type = corev1.SeccompProfileTypeUnconfined
			},
			func(w workload) {
				w.pod.Containers[0].SecurityContext.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
			},
		}},
	{name: "writes no files",
		keeps:  func(w workload) bool { return is(security(w).ReadOnlyRootFilesystem, true) },
		breaks: []func(workload){func(w workload) { w.pod.Containers[0].SecurityContext.ReadOnlyRootFilesystem = to(false) }}},
	{name: "gains no privileges",
		keeps: func(w workload) bool {
			s := security(w)
			return is(s.AllowPrivilegeEscalation, false) && s.Privileged == nil && s.ProcMount == nil
		},
		breaks: []func(workload){
			func(w workload) { w.pod.Containers[0].SecurityContext.AllowPrivilegeEscalation = to(true) },
			func(w workload) { w.pod.Containers[0].SecurityContext.Privileged = to(true) },
		}},
	{name: "has no capabilities",
		keeps: func(w workload) bool {
			c := security(w).Capabilities
			return c != nil && slices.Equal(c.Drop, []corev1.Capability{"ALL"}) && len(c.Add) == 0
		},
		breaks: []func(workload){
			func(w workload) {
				w.pod.Containers[0].SecurityContext.Capabilities.Add = []corev1.Capability{"NET_RAW"}
			},
			func(w workload) { w.pod.Containers[0].SecurityContext.Capabilities.Drop[0] = "CHOWN" },
		}},
	{name: "shares nothing with its node",
		keeps: func(w workload) bool {
			return !w.pod.HostNetwork && !w.pod.HostPID && !w.pod.HostIPC &&
				!slices.ContainsFunc(w.pod.Volumes, func(v corev1.Volume) bool { return v.Projected == nil && v.EmptyDir == nil }) &&
				!slices.ContainsFunc(w.container().Ports, func(p corev1.ContainerPort) bool { return p.HostPort != 0 })
		},
		breaks: []func(workload){
			func(w workload) { w.pod.HostNetwork = true },
			func(w workload) { w.pod.HostPID = true },
			func(w workload) { w.pod.HostIPC = true },
			func(w workload) {
				w.pod.Volumes[0].VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}
			},
			func(w workload) { w.pod.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 1, HostPort: 1}} },
		}},
	{name: "has an account of its own and no token",
		keeps: func(w workload) bool {
			return w.pod.ServiceAccountName == "reverie" && is(w.pod.AutomountServiceAccountToken, false)
		},
		breaks: []func(workload){func(w workload) { w.pod.AutomountServiceAccountToken = to(true) }}},
	{name: "gets no variables from services, which would look like settings",
		keeps:  func(w workload) bool { return is(w.pod.EnableServiceLinks, false) },
		breaks: []func(workload){func(w workload) { w.pod.EnableServiceLinks = to(true) }}},
	{name: "gets secrets as files only, which its group may read and nobody write",
		keeps: keepsSecrets,
		breaks: []func(workload){
			func(w workload) { w.pod.Volumes[0].Projected.DefaultMode = to[int32](0o444) },
			func(w workload) { w.pod.SecurityContext.FSGroup = to[int64](1) },
			func(w workload) { w.pod.Containers[0].VolumeMounts[0].ReadOnly = false },
			func(w workload) {
				w.pod.Containers[0].Env[0] = corev1.EnvVar{Name: "REVERIE_DATABASE_URL",
					ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "database-url"}}}
			},
			func(w workload) {
				w.pod.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{}}}
			},
		}},
	{name: "has a folder for temporary files, of a bounded size",
		keeps: keepsTemp,
		breaks: []func(workload){
			func(w workload) { w.pod.Containers[0].VolumeMounts[1].MountPath = "/var/tmp" },
			func(w workload) { w.pod.Volumes[1].EmptyDir.SizeLimit = nil },
			func(w workload) { w.pod.Volumes[1].EmptyDir.Medium = corev1.StorageMediumMemory },
		}},
	{name: "says at the pod why it failed",
		keeps: func(w workload) bool {
			return w.container().TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError
		},
		breaks: []func(workload){
			func(w workload) { w.pod.Containers[0].TerminationMessagePolicy = corev1.TerminationMessageReadFile },
		}},
	{name: "is limited in memory and not in CPU, and its heap limit is 80 to 92% of that",
		keeps: keepsResources,
		breaks: []func(workload){
			func(w workload) { setEnv(w, "GOMEMLIMIT", "512MiB") },
			func(w workload) { setEnv(w, "GOMEMLIMIT", "64MiB") },
			func(w workload) { setEnv(w, "GOMEMLIMIT", "off") },
			func(w workload) { w.pod.Containers[0].Resources.Limits["memory"] = resource.MustParse("2Gi") },
			func(w workload) { w.pod.Containers[0].Resources.Limits["cpu"] = resource.MustParse("1") },
		}},
	{name: "has longer to stop than it takes by itself",
		keeps: func(w workload) bool {
			cfg, err := w.config()
			return err == nil && w.pod.TerminationGracePeriodSeconds != nil &&
				time.Duration(*w.pod.TerminationGracePeriodSeconds)*time.Second >= cfg.Jobs.Grace.Duration+20*time.Second
		},
		breaks: []func(workload){
			func(w workload) { w.pod.TerminationGracePeriodSeconds = to[int64](60) },
			func(w workload) { setEnv(w, "REVERIE_JOBS_GRACE", "5m") },
		}},
	{name: "has an image with a tag",
		keeps: func(w workload) bool {
			_, tag, found := strings.Cut(w.container().Image, ":")
			return found && tag != "" && tag != "latest"
		},
		breaks: []func(workload){
			func(w workload) { w.pod.Containers[0].Image = "reverie" },
			func(w workload) { w.pod.Containers[0].Image = "reverie:latest" },
		}},
	{name: "has the recommended labels",
		keeps: func(w workload) bool {
			return w.labels["app.kubernetes.io/name"] == "reverie" && w.labels["app.kubernetes.io/part-of"] == "reverie" && w.component() != ""
		},
		breaks: []func(workload){
			func(w workload) { delete(w.labels, "app.kubernetes.io/name") },
			func(w workload) { delete(w.labels, "app.kubernetes.io/component") },
		}},
	{name: "is started with a command, flags and settings that the binary has",
		keeps: func(w workload) bool { _, err := w.config(); return err == nil && commandProblem(w) == nil },
		breaks: []func(workload){
			func(w workload) { w.pod.Containers[0].Args[0] = "devolve" },
			func(w workload) { w.pod.Containers[0].Args = []string{"memory"} }, // only holds others
			func(w workload) { w.pod.Containers[0].Args = append(w.pod.Containers[0].Args, "--soon") },
			func(w workload) { w.pod.Containers[0].Args = append(w.pod.Containers[0].Args, "more", "words") },
			func(w workload) { w.pod.Containers[0].Command = []string{"/bin/sh"} },
			func(w workload) { setEnv(w, "REVERIE_LOG_LEVELS", "info") },
			func(w workload) { setEnv(w, "REVERIE_LOG_LEVEL", "loud") },
			func(w workload) { w.pod.Volumes[0].Projected.Sources[0].Secret.Items[0].Path = "elsewhere" },
			func(w workload) { w.pod.Containers[0].EnvFrom = nil },
		}},
}
