package e2e

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"reverie/internal/reverie"
	"reverie/internal/telemetry"
)

func kubernetesPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var documentedFile = regexp.MustCompile("(?s)```yaml\n# ([a-z]+/[a-z]+\\.yaml)\n(.*?)```")

// The overlays that the page shows are built, and keep the rules too.
func TestDocumentedOverlays(t *testing.T) {
	t.Parallel()
	page, dir := kubernetesPage(t), t.TempDir()
	k8s, err := filepath.Abs(k8sDir)
	if err != nil {
		t.Fatal(err)
	}
	var built []string
	for _, m := range documentedFile.FindAllStringSubmatch(page, -1) {
		name := filepath.Join(dir, m[1])
		rel, err := filepath.Rel(filepath.Dir(name), k8s)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(strings.ReplaceAll(m[2], "../k8s/", rel+"/")), 0o600); err != nil {
			t.Fatal(err)
		}
		if filepath.Base(name) == "kustomization.yaml" {
			built = append(built, filepath.Dir(name))
		}
	}
	if len(built) != 3 || len(documentedFile.FindAllString(page, -1)) != strings.Count(page, "```yaml") {
		t.Fatalf("the page shows %d overlays, and a file without its name", len(built))
	}
	for _, overlay := range built {
		objects, err := decodeStrictly(render(t, overlay))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range workloadsIn(t, "cronjob", objects, of[*corev1.ConfigMap](objects)[0].Data) {
			for _, name := range broken(w) {
				t.Errorf("%s: %s: broken rule: %s", filepath.Base(overlay), w.name, name)
			}
		}
	}
}

var documentedApply = regexp.MustCompile(`kubectl apply -[kf] (\S+)`)

// What the page and the manifests call by name is there: folders, and paths that the
// daemon serves.
func TestDocumentedNames(t *testing.T) {
	t.Parallel()
	page := kubernetesPage(t)
	for _, m := range documentedApply.FindAllStringSubmatch(page, -1) {
		if _, err := os.Stat(filepath.Join("../..", m[1])); err != nil && m[1] != "deploy" { // the reader's own
			t.Error(err)
		}
	}
	server := &telemetry.Server{Listen: "127.0.0.1:0", Metrics: telemetry.New("test", nil, reverie.JobEvolve)}
	addr, err := server.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	get := func(path string) string {
		t.Helper()
		r, err := http.Get("http://" + addr + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != http.StatusOK {
			t.Errorf("%s: %s %v", path, r.Status, err)
		}
		return string(body)
	}
	for _, w := range workloads(t, "daemon") {
		if w.daemon == nil {
			continue
		}
		c := w.container()
		for _, p := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
			get(p.HTTPGet.Path)
		}
		get(w.daemon.Spec.Template.Annotations["prometheus.io/path"])
	}
}
