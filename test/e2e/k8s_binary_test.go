package e2e

import (
	"fmt"
	"net"
	"regexp"
	"reverie/cmd/reverie/command"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// commandProblem says what the binary would refuse of a container's command line:
// nil if nothing. An Indexed Job is asked with each of its indexes, which have to
// be the shards.
func commandProblem(w workload) error {
	c := w.container()
	if len(c.Command) > 0 || c.WorkingDir != "" {
		return fmt.Errorf("%s replaces the image's entry point", w.name)
	}
	if !isIndexed(w) {
		return parseArgs(c.Args)
	}
	if !within(w.job.Completions, 1, 1000) {
		return fmt.Errorf("%s: it does not say how many shards there are", w.name)
	}
	shards := map[string]bool{}
	for i := range *w.job.Completions {
		args := slices.Clone(c.Args)
		for n := range args {
			args[n] = strings.ReplaceAll(args[n], "$(JOB_COMPLETION_INDEX)", fmt.Sprint(i))
		}
		if err := parseArgs(args); err != nil {
			return err
		}
		for _, arg := range args {
			if shard, found := strings.CutPrefix(arg, "--shard="); found && shard == fmt.Sprintf("%d/%d", i, *w.job.Completions) {
				shards[shard] = true
			}
		}
	}
	if len(shards) != int(*w.job.Completions) {
		return fmt.Errorf("%s: its %d indexes are not the shards of %v", w.name, *w.job.Completions, c.Args)
	}
	return nil
}

// parseArgs looks a command up and parses its flags and arguments.
func parseArgs(args []string) error {
	root := command.Root()
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if cmd == root || len(cmd.Commands()) > 0 && !cmd.HasLocalFlags() {
		return fmt.Errorf("%v is no command", args)
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if err := cmd.ValidateRequiredFlags(); err != nil {
		return err
	}
	var dates []string
	for _, name := range []string{"from", "to"} {
		if f := cmd.Flags().Lookup(name); f != nil {
			dates = append(dates, f.Value.String())
			if _, err := time.Parse(time.DateOnly, f.Value.String()); err != nil {
				return fmt.Errorf("--%s: %w", name, err)
			}
		}
	}
	if !slices.IsSorted(dates) {
		return fmt.Errorf("%v: the dates are the wrong way round", args)
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// What becomes of a pod that ends with each code of the binary. Count is a try
// that counts against the limit.
var podActions = map[string]map[int32]batchv1.PodFailurePolicyAction{
	"migrate":  {command.ExitUsage: "FailJob"},
	"pull":     {command.ExitUsage: "FailJob", command.ExitPartial: "FailJob", command.ExitDeferred: "FailJob"},
	"tools":    {command.ExitUsage: "FailJob", command.ExitPartial: "FailJob", command.ExitDeferred: "FailJob"},
	"evolve":   {command.ExitUsage: "FailJob", command.ExitPartial: "FailJob", command.ExitDeferred: "FailJob"},
	"dream":    {command.ExitUsage: "FailJob", command.ExitPartial: "FailJob", command.ExitDeferred: "FailJob"},
	"extract":  {command.ExitUsage: "FailJob", command.ExitPartial: "FailJob", command.ExitDeferred: "FailJob"},
	"maintain": {command.ExitUsage: "FailJob", command.ExitPartial: "FailJob", command.ExitDeferred: "FailJob"},
	"backfill": {command.ExitUsage: "FailJob", command.ExitPartial: "FailIndex", command.ExitDeferred: "FailIndex"},
}

// exitCodes are all that the binary has but success.
var exitCodes = []int32{command.ExitError, command.ExitUsage, command.ExitPartial, command.ExitDeferred, command.ExitBusy, command.ExitInterrupted}

// policyProblem says how a Job's failure policy differs from what is wanted. Codes
// of the kernel (137: killed) are counted like those of the binary.
func policyProblem(w workload) string {
	if w.job.PodFailurePolicy == nil {
		return "has no podFailurePolicy"
	}
	for _, r := range w.job.PodFailurePolicy.Rules {
		if r.OnExitCodes == nil {
			continue
		}
		if !is(r.OnExitCodes.ContainerName, "reverie") {
			return "would take a sidecar's exit code for ours"
		}
		for _, code := range r.OnExitCodes.Values {
			if !slices.Contains(exitCodes, code) {
				return fmt.Sprintf("knows exit code %d, the binary does not", code)
			}
		}
	}
	for _, code := range append([]int32{137, 143}, exitCodes...) {
		want, found := podActions[w.component()][code]
		if !found {
			want = batchv1.PodFailurePolicyActionCount
		} else if want == batchv1.PodFailurePolicyActionFailJob && code != command.ExitUsage && isIndexed(w) {
			want = batchv1.PodFailurePolicyActionFailIndex // in shards, a hourly run too
		}
		if got := podAction(w.job.PodFailurePolicy, code, false); got != want {
			return fmt.Sprintf("exit code %d: %s, want %s", code, got, want)
		}
		if got := podAction(w.job.PodFailurePolicy, code, true); got != batchv1.PodFailurePolicyActionIgnore {
			return fmt.Sprintf("exit code %d of a disrupted pod: %s, want Ignore", code, got)
		}
	}
	return ""
}

// podAction is what the Job controller does with a pod that ended: the first rule
// that matches.
func podAction(policy *batchv1.PodFailurePolicy, code int32, disrupted bool) batchv1.PodFailurePolicyAction {
	for _, r := range policy.Rules {
		if e := r.OnExitCodes; e != nil &&
			slices.Contains(e.Values, code) == (e.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn) {
			return r.Action
		}
		for _, c := range r.OnPodConditions {
			if disrupted && c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
				return r.Action
			}
		}
	}
	return batchv1.PodFailurePolicyActionCount
}

// setEnv sets a variable of the container.
func setEnv(w workload, name, value string) {
	env := slices.DeleteFunc(w.pod.Containers[0].Env, func(v corev1.EnvVar) bool { return v.Name == name })
	w.pod.Containers[0].Env = append(env, corev1.EnvVar{Name: name, Value: value})
}

func keepsSecrets(w workload) bool {
	c := w.container()
	if slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.ValueFrom != nil }) ||
		slices.ContainsFunc(c.EnvFrom, func(f corev1.EnvFromSource) bool { return f.SecretRef != nil }) ||
		len(w.pod.Volumes) != 2 || len(c.VolumeMounts) != 2 {
		return false
	}
	keys := []string{"database-url"}
	switch {
	case w.component() == "pull":
		keys = append(keys, "pull-token")
	case w.asksModel():
		keys = append(keys, "llm-api-key")
	}
	s, p := w.pod.Volumes[0].Projected, podSecurity(w)
	if s == nil || len(s.Sources) != len(keys) {
		return false
	}
	for i, source := range s.Sources { // the database's address is needed, keys of models are not
		if source.Secret == nil || source.Secret.Name != "reverie" || is(source.Secret.Optional, true) != (i > 0) ||
			len(source.Secret.Items) != 1 || source.Secret.Items[0].Key != keys[i] || source.Secret.Items[0].Path != keys[i] {
			return false
		}
	}
	return is(s.DefaultMode, 0o440) && c.VolumeMounts[0].ReadOnly && c.VolumeMounts[0].MountPath == "/etc/reverie/secrets" &&
		p.FSGroup != nil && p.RunAsGroup != nil && *p.FSGroup == *p.RunAsGroup
}

// keepsTemp tells whether the pod has a folder for temporary files, and of bounded size.
func keepsTemp(w workload) bool {
	m := w.container().VolumeMounts
	if len(w.pod.Volumes) != 2 {
		return false
	}
	v := w.pod.Volumes[1]
	return v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil && v.EmptyDir.Medium == "" && len(m) == 2 && m[1].Name == v.Name &&
		m[1].MountPath == "/tmp" && !m[1].ReadOnly
}

var mebibytes = regexp.MustCompile(`^([0-9]+)MiB$`)

func keepsResources(w workload) bool {
	r := w.container().Resources
	m := mebibytes.FindStringSubmatch(w.env("GOMEMLIMIT"))
	if m == nil {
		return false
	}
	heap, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return false
	}
	limit := float64(r.Limits.Memory().Value()) / (1 << 20)
	return 0.80*limit <= heap && heap <= 0.92*limit && r.Limits.Cpu().IsZero() &&
		r.Requests.Memory().Equal(*r.Limits.Memory()) && !r.Requests.Cpu().IsZero()
}

func keepsProbes(w workload) bool {
	c := w.container()
	cfg, err := w.config()
	if err != nil || len(c.Ports) != 1 || c.Ports[0].Name != "http" {
		return false
	}
	host, port, err := net.SplitHostPort(cfg.HTTP.Listen)
	if err != nil || host != "" || port != fmt.Sprint(c.Ports[0].ContainerPort) {
		return false
	}
	for _, p := range []struct {
		probe *corev1.Probe
		path  string
		least int32 // seconds of silence that it bears
	}{{c.StartupProbe, "/healthz", 30}, {c.LivenessProbe, "/healthz", 30}, {c.ReadinessProbe, "/readyz", 10}} {
		if p.probe == nil || p.probe.HTTPGet == nil || p.probe.HTTPGet.Path != p.path || p.probe.HTTPGet.Port != intstr.FromString("http") ||
			p.probe.PeriodSeconds*p.probe.FailureThreshold < p.least {
			return false
		}
	}
	a := w.daemon.Spec.Template.Annotations
	return a["prometheus.io/scrape"] == "true" && a["prometheus.io/port"] == port && a["prometheus.io/path"] == "/metrics"
}
