package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

const helmDir = k8sDir + "/helm"

// chartParts are the overlays that the chart is made of, and when they are rendered.
// What an earlier one has is left out of a later one.
var chartParts = []struct{ overlay, when string }{
	{"cronjob", ""},
	{"daemon", `eq .Values.mode "daemon"`},
	{"api", ".Values.api.enabled"},
	{"backfill", ".Values.backfill.enabled"},
}

// migrateHook has the schema migrated ahead of an upgrade. At first what the Job needs must be
// there, so that it comes last.
const migrateHook = `  annotations:
    helm.sh/hook: post-install,pre-upgrade
    helm.sh/hook-delete-policy: before-hook-creation
`

// chartTemplates are the chart's templates by their names: the objects of the overlays, with
// the chart's values in the place of what they say.
func chartTemplates(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, part := range chartParts {
		for _, doc := range strings.Split(string(render(t, filepath.Join(k8sDir, "overlays", part.overlay))), "\n---\n") {
			var o struct {
				Kind     string
				Metadata metav1.ObjectMeta
				Spec     struct{ Schedule string }
				Data     map[string]string
			}
			if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
				t.Fatal(err)
			}
			file := strings.ToLower(o.Kind) + "-" + o.Metadata.Name + ".yaml"
			if _, there := out[file]; there {
				continue
			}
			text := strings.TrimRight(doc, "\n") + "\n"
			set := func(old, new string) {
				if !strings.Contains(text, old) {
					t.Fatalf("%s has no %q", file, old)
				}
				text = strings.ReplaceAll(text, old, new)
			}
			set("  namespace: reverie\n", "  namespace: {{ .Release.Namespace }}\n")
			if strings.Contains(text, "image: ") {
				set("image: reverie:dev\n", "image: {{ printf \"%s:%v\" .Values.image.repository .Values.image.tag | quote }}\n")
			}
			switch {
			case o.Kind == "ConfigMap":
				head, _, _ := strings.Cut(text, "data:\n")
				_, tail, _ := strings.Cut(text, "kind: ConfigMap")
				text = head + "data:\n{{- range $name, $value := .Values.settings }}\n  {{ $name }}: {{ $value | quote }}\n{{- end }}\nkind: ConfigMap" + tail
			case o.Kind == "Job":
				set("\nmetadata:\n", "\nmetadata:\n"+migrateHook)
			case o.Kind == "CronJob" && !slices.Contains([]string{"backfill", "tools"}, o.Metadata.Name):
				text = strings.ReplaceAll(text, "  suspend: true\n", "")
				set("  schedule: "+o.Spec.Schedule+"\n", fmt.Sprintf("  schedule: {{ .Values.schedules.%[1]s | quote }}\n"+
					"  suspend: {{ or (eq .Values.mode \"daemon\") .Values.suspend.%[1]s }}\n", o.Metadata.Name))
			}
			if o.Metadata.Name == "pull" {
				set("- https://chats.example.org/api/v1\n", "- {{ .Values.pull.url | quote }}\n")
			}
			if part.when != "" {
				text = "{{- if " + part.when + " }}\n" + text + "{{- end }}\n"
			}
			out[file] = text
		}
	}
	return out
}

// helmTemplate does as `helm template` does with values on top of the chart's.
func helmTemplate(t *testing.T, set func(values map[string]any)) []runtime.Object {
	t.Helper()
	text, err := os.ReadFile(helmDir + "/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		t.Fatal(err)
	}
	set(values)
	files, err := filepath.Glob(helmDir + "/templates/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	quote := func(v any) string { return strconv.Quote(fmt.Sprint(v)) }
	var out bytes.Buffer
	for _, file := range files {
		made, err := template.New(filepath.Base(file)).Option("missingkey=error").Funcs(template.FuncMap{"quote": quote}).ParseFiles(file)
		if err != nil {
			t.Fatal(err)
		}
		var one bytes.Buffer
		data := map[string]any{"Values": values, "Release": map[string]any{"Namespace": "reverie"}}
		if err := made.Execute(&one, data); err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(one.String()) != "" {
			fmt.Fprintf(&out, "%s\n---\n", one.String())
		}
	}
	objects, err := decodeStrictly(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// byName are objects by kind and name, without what only one of kustomize and helm has to say.
func byName(objects []runtime.Object) map[string]runtime.Object {
	out := map[string]runtime.Object{}
	for _, o := range objects {
		o = o.DeepCopyObject()
		switch o := o.(type) {
		case *batchv1.Job:
			o.Annotations = nil // of the hook
		case *batchv1.CronJob:
			o.Spec.Suspend = to(is(o.Spec.Suspend, true))
		}
		out[o.GetObjectKind().GroupVersionKind().Kind+"/"+o.(metav1.Object).GetName()] = o
	}
	return out
}

func TestHelmTemplates(t *testing.T) {
	t.Parallel()
	want := chartTemplates(t)
	files, err := filepath.Glob(helmDir + "/templates/*")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		for _, file := range files {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		for name, text := range want {
			if err := os.WriteFile(filepath.Join(helmDir, "templates", name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	if len(files) != len(want) {
		t.Errorf("the chart has %d templates, the overlays %d objects", len(files), len(want))
	}
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join(helmDir, "templates", name))
		if err != nil {
			t.Error(err)
		} else if diff := cmp.Diff(text, string(got)); diff != "" {
			t.Errorf("%s is not what the overlays have (go test ./test/e2e -run TestHelm -update):\n%s", name, diff)
		}
	}
}

// The chart renders what the overlays do, from its own values; and what is set is heard.
func TestHelmRendersTheOverlays(t *testing.T) {
	t.Parallel()
	on := map[string]any{"enabled": true}
	for name, c := range map[string]struct {
		set      func(values map[string]any)
		overlays []string
	}{
		"default":  {func(map[string]any) {}, []string{"cronjob"}},
		"daemon":   {func(v map[string]any) { v["mode"] = "daemon" }, []string{"daemon"}},
		"api":      {func(v map[string]any) { v["api"] = on }, []string{"cronjob", "api"}},
		"backfill": {func(v map[string]any) { v["backfill"], v["mode"] = on, "daemon" }, []string{"daemon", "backfill"}},
	} {
		var objects []runtime.Object
		for _, overlay := range c.overlays {
			objects = append(objects, manifests(t, overlay)...)
		}
		if diff := cmp.Diff(byName(objects), byName(helmTemplate(t, c.set))); diff != "" {
			t.Errorf("%s: the overlays (-) and the chart (+) differ:\n%s", name, diff)
		}
	}
	objects := helmTemplate(t, func(v map[string]any) {
		v["image"] = map[string]any{"repository": "r.example.org/reverie", "tag": 1.25}
		v["suspend"].(map[string]any)["dream"] = true
		v["schedules"].(map[string]any)["evolve"] = "33 * * * *"
	})
	for _, c := range of[*batchv1.CronJob](objects) {
		if w, _ := workloadOf(c); w.container().Image != "r.example.org/reverie:1.25" || c.Name == "dream" && !is(c.Spec.Suspend, true) ||
			c.Name == "evolve" && c.Spec.Schedule != "33 * * * *" {
			t.Errorf("%s is %+v", c.Name, c.Spec)
		}
	}
}
