package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"reverie/internal/config"
)

// workload is an object that makes pods. Of job, cron and daemon, those are set
// that it is: a CronJob has a Job too.
type workload struct {
	object runtime.Object
	name   string
	labels map[string]string // of its pods
	pod    *corev1.PodSpec
	job    *batchv1.JobSpec
	cron   *batchv1.CronJobSpec
	daemon *appsv1.Deployment

	overlay  string            // that it was rendered for
	settings map[string]string // of the ConfigMap
	keyless  bool              // the Secret has no key of a model
	scratch  string            // a folder for what is mounted
}

// workloadOf is the workload that an object is, if any.
func workloadOf(o runtime.Object) (workload, bool) {
	w := workload{object: o}
	var template *corev1.PodTemplateSpec
	switch o := o.(type) {
	case *batchv1.Job:
		w.job, template = &o.Spec, &o.Spec.Template
	case *batchv1.CronJob:
		w.cron, w.job, template = &o.Spec, &o.Spec.JobTemplate.Spec, &o.Spec.JobTemplate.Spec.Template
	case *appsv1.Deployment:
		w.daemon, template = o, &o.Spec.Template
	default:
		return w, false
	}
	w.name = o.GetObjectKind().GroupVersionKind().Kind + "/" + o.(metav1.Object).GetName()
	w.pod, w.labels = &template.Spec, template.Labels
	return w, true
}

// component is what the workload does, as its pods' label says.
func (w workload) component() string { return w.labels["app.kubernetes.io/component"] }

// asksModel tells whether it needs the model's key.
func (w workload) asksModel() bool {
	return !slices.Contains([]string{"migrate", "maintain", "pull"}, w.component())
}

// schedule is when the daemon does by default what the workload does, "" for never.
func (w workload) schedule() string {
	for _, s := range defaultSchedules() {
		if string(s.Job) == w.component() {
			return s.Spec.String()
		}
	}
	return ""
}

// defaultSchedules are those of a daemon that nobody has configured.
var defaultSchedules = sync.OnceValue(func() []config.JobSchedule {
	cfg, _, _, err := config.Load(config.Input{WorkDir: os.TempDir()})
	if err != nil {
		panic(err)
	}
	schedules, err := cfg.Schedules()
	if err != nil {
		panic(err)
	}
	return schedules
})

// container is the only one, or an empty one if there are others.
func (w workload) container() corev1.Container {
	if len(w.pod.Containers) != 1 || len(w.pod.InitContainers)+len(w.pod.EphemeralContainers) > 0 {
		return corev1.Container{}
	}
	return w.pod.Containers[0]
}

// env is one variable of the container, "" without it.
func (w workload) env(name string) string {
	for _, v := range w.container().Env {
		if v.Name == name {
			return v.Value
		}
	}
	return ""
}

// config loads the settings as the container would, with its variables and the
// files that its volumes put there. A warning is an error: the binary warns of
// variables that it does not know. What says the same is loaded once.
func (w workload) config() (*config.Config, error) {
	c := w.container()
	key, err := json.Marshal([]any{w.name, w.settings, w.keyless, c.EnvFrom, c.Env, c.VolumeMounts, w.pod.Volumes})
	if err != nil {
		return nil, err
	}
	load, _ := loadedConfigs.LoadOrStore(string(key), sync.OnceValues(w.loadConfig))
	return load.(func() (*config.Config, error))()
}

// secret is what the Secret holds.
func (w workload) secret() map[string]string {
	s := map[string]string{"database-url": "postgres://reverie@db/reverie\n", "llm-api-key": "k\n", "pull-token": "t\n"}
	if w.keyless {
		delete(s, "llm-api-key")
	}
	return s
}

// Models without a key need none in the Secret; others say that it is missing.
func TestWorkloadsWithoutKey(t *testing.T) {
	t.Parallel()
	for _, overlay := range overlays {
		for _, w := range workloads(t, overlay) {
			w.keyless, w.settings = true, map[string]string{"REVERIE_LLM_PROVIDER": "openai", "REVERIE_LLM_BASE_URL": "http://model:8000/v1",
				"REVERIE_LLM_MODEL": "m"}
			if _, err := w.config(); err != nil {
				t.Errorf("%s of %s: %v", w.name, overlay, err)
			}
			w.settings = map[string]string{"REVERIE_LLM_PROVIDER": "gemini"}
			if _, err := w.config(); w.asksModel() == (err == nil) {
				t.Errorf("%s of %s with a model that needs a key: %v", w.name, overlay, err)
			}
		}
	}
}

// loadedConfigs are loads by what they read.
var loadedConfigs sync.Map

func (w workload) loadConfig() (*config.Config, error) {
	if !slices.ContainsFunc(w.container().EnvFrom, func(f corev1.EnvFromSource) bool {
		return f.ConfigMapRef != nil && f.ConfigMapRef.Name == "reverie" && f.Prefix == ""
	}) {
		return nil, fmt.Errorf("%s does not read the ConfigMap", w.name)
	}
	root, err := os.MkdirTemp(w.scratch, "root")
	if err != nil {
		return nil, err
	}
	for _, v := range w.pod.Volumes {
		for _, m := range w.container().VolumeMounts {
			if m.Name != v.Name || v.Projected == nil {
				continue
			}
			for _, source := range v.Projected.Sources {
				if source.Secret == nil {
					continue
				}
				for _, item := range source.Secret.Items {
					name := filepath.Join(root, m.MountPath, item.Path)
					if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
						return nil, err
					}
					value, there := w.secret()[item.Key]
					if !there && is(source.Secret.Optional, true) {
						continue
					}
					if err := os.WriteFile(name, []byte(value), 0o600); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	vars := map[string]string{}
	for name, value := range w.settings {
		vars[name] = value
	}
	for _, v := range w.container().Env {
		vars[v.Name] = v.Value
		if strings.HasSuffix(v.Name, "_FILE") {
			name, optional := strings.CutPrefix(v.Value, "-")
			if vars[v.Name] = filepath.Join(root, name); optional {
				vars[v.Name] = "-" + vars[v.Name]
			}
		}
	}
	var env []string
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	cfg, _, warnings, err := config.Load(config.Input{Env: env, WorkDir: w.scratch})
	if err == nil && len(warnings) > 0 {
		err = fmt.Errorf("%s: %s", w.name, strings.Join(warnings, "; "))
	}
	if err != nil {
		return nil, err
	}
	if cfg.Database.URL == "" {
		return nil, fmt.Errorf("%s has no database", w.name)
	}
	if _, err := cfg.Generation("evolve"); w.asksModel() && err != nil {
		return nil, err
	}
	return cfg, nil
}

// workloads are those of an overlay, each with the settings of the installation.
func workloads(t *testing.T, overlay string) []workload {
	t.Helper()
	return workloadsIn(t, overlay, manifests(t, overlay), of[*corev1.ConfigMap](manifests(t, "cronjob"))[0].Data)
}

// workloadsIn are those among some objects.
func workloadsIn(t *testing.T, overlay string, objects []runtime.Object, settings map[string]string) []workload {
	t.Helper()
	var out []workload
	for _, o := range objects {
		if w, ok := workloadOf(o); ok {
			w.overlay, w.settings, w.scratch = overlay, settings, t.TempDir()
			out = append(out, w)
		}
	}
	if len(out) == 0 {
		t.Fatalf("overlay %s has no workload", overlay)
	}
	return out
}

// clone is a copy that may be changed.
func (w workload) clone() workload { return w.as(w.object.DeepCopyObject()) }

// as is another object in the same surroundings.
func (w workload) as(o runtime.Object) workload {
	c, _ := workloadOf(o)
	c.overlay, c.settings, c.scratch = w.overlay, w.settings, w.scratch
	return c
}
