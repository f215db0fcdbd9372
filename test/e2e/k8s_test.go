package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const k8sDir = "../../k8s"

// overlays are all there are; a new one has to be said here.
var overlays = []string{"api", "backfill", "cronjob", "daemon"}

// rendered are kustomizations by their folders: each is built once.
var rendered sync.Map

// render builds one kustomization.
func render(t *testing.T, dir string) []byte {
	t.Helper()
	build, _ := rendered.LoadOrStore(dir, sync.OnceValues(func() ([]byte, error) { return kustomize(dir) }))
	out, err := build.(func() ([]byte, error))()
	if err != nil {
		t.Fatalf("render %s: %v", dir, err)
	}
	return out
}

// kustomize does as `kubectl kustomize` does.
func kustomize(dir string) ([]byte, error) {
	opts := krusty.MakeDefaultOptions()
	opts.LoadRestrictions = types.LoadRestrictionsRootOnly
	m, err := krusty.MakeKustomizer(opts).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, err
	}
	return m.AsYaml()
}

// decodeStrictly reads manifests into the types of the Kubernetes API. An unknown
// kind, an unknown field and a field that is there twice are errors.
func decodeStrictly(manifests []byte) ([]runtime.Object, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	docs := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifests)))
	var objects []runtime.Object
	for {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		o, _, err := decoder.Decode(doc, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("%w\nin:\n%s", err, doc)
		}
		objects = append(objects, o)
	}
}

// decoded are overlays by their names: each is read once, and nobody changes it.
var decoded sync.Map

// manifests renders an overlay and decodes it. Who would change an object takes a
// copy.
func manifests(t *testing.T, overlay string) []runtime.Object {
	t.Helper()
	text := render(t, filepath.Join(k8sDir, "overlays", overlay))
	read, _ := decoded.LoadOrStore(overlay, sync.OnceValues(func() ([]runtime.Object, error) { return decodeStrictly(text) }))
	objects, err := read.(func() ([]runtime.Object, error))()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(objects)
}

// of picks the objects of one type.
func of[T runtime.Object](objects []runtime.Object) []T {
	var out []T
	for _, o := range objects {
		if x, ok := o.(T); ok {
			out = append(out, x)
		}
	}
	return out
}

func TestOverlays(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(filepath.Join(k8sDir, "overlays"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	if !slices.Equal(found, overlays) {
		t.Errorf("overlays are %v, tested are %v", found, overlays)
	}
	want := map[string]string{
		"api":      "Deployment/api NetworkPolicy/api PodDisruptionBudget/api Service/api",
		"backfill": "CronJob/backfill",
		"cronjob": "ConfigMap/reverie CronJob/dream CronJob/evolve CronJob/extract CronJob/maintain CronJob/pull CronJob/tools Job/migrate NetworkPolicy/default-deny " +
			"NetworkPolicy/model NetworkPolicy/names-and-database ServiceAccount/reverie",
		"daemon": "ConfigMap/reverie CronJob/dream CronJob/evolve CronJob/extract CronJob/maintain CronJob/pull CronJob/tools Deployment/daemon Job/migrate NetworkPolicy/default-deny " +
			"NetworkPolicy/metrics NetworkPolicy/model NetworkPolicy/names-and-database ServiceAccount/reverie",
	}
	for _, overlay := range overlays {
		var names []string
		for _, o := range manifests(t, overlay) {
			meta := o.(metav1.Object)
			names = append(names, o.GetObjectKind().GroupVersionKind().Kind+"/"+meta.GetName())
			if meta.GetNamespace() != "reverie" {
				t.Errorf("%s: %s is in namespace %q", overlay, meta.GetName(), meta.GetNamespace())
			}
			if c, ok := o.(*batchv1.CronJob); ok && overlay == "cronjob" && is(c.Spec.Suspend, true) != slices.Contains([]string{"pull", "tools"}, c.Name) {
				t.Errorf("CronJob %s: suspended are those that need an address, and templates, and no other", c.Name)
			}
			if meta.GetLabels()["app.kubernetes.io/name"] != "reverie" || meta.GetLabels()["app.kubernetes.io/part-of"] != "reverie" {
				t.Errorf("%s: %s lacks the recommended labels: %v", overlay, meta.GetName(), meta.GetLabels())
			}
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != want[overlay] {
			t.Errorf("%s holds\n%s\nwant\n%s", overlay, got, want[overlay])
		}
	}
}

// Kustomize merges what it reads, so a field that a file says twice could be lost
// before the rendering is looked at.
func TestManifestFiles(t *testing.T) {
	t.Parallel()
	var read int
	err := filepath.WalkDir(k8sDir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && slices.Contains([]string{"helm", "monitoring"}, d.Name()) {
			return fs.SkipDir // they have tests of their own
		}
		if err != nil || d.IsDir() {
			return err
		}
		read++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if d.Name() != "kustomization.yaml" {
			if _, err := decodeStrictly(text); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			return nil
		}
		var k types.Kustomization
		if err := yaml.UnmarshalStrict(text, &k); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for _, p := range k.Patches {
			var patch any
			if err := yaml.UnmarshalStrict([]byte(p.Patch), &patch); err != nil {
				t.Errorf("%s: patch of %v: %v", path, p.Target, err)
			}
		}
		return nil
	})
	if err != nil || read == 0 {
		t.Fatalf("read %d files: %v", read, err)
	}
}

func TestDecodeStrictly(t *testing.T) {
	t.Parallel()
	good := string(render(t, filepath.Join(k8sDir, "overlays", "cronjob")))
	for name, c := range map[string][2]string{
		"a field that is spelled wrong":    {"concurrencyPolicy:", "concurencyPolicy:"},
		"a field in the wrong case":        {"backoffLimit:", "backofflimit:"},
		"a field in the wrong place":       {"  schedule:", "  ttlSecondsAfterFinished: 1\n  schedule:"},
		"a field twice":                    {"  schedule:", "  schedule: 1 * * * *\n  schedule:"},
		"a value of the wrong type":        {"activeDeadlineSeconds: 21600", `activeDeadlineSeconds: "21600"`},
		"a field in nearly the right case": {"readOnlyRootFilesystem: true", "readOnlyRootFileSystem: true"},
		"an unknown kind":                  {"kind: CronJob", "kind: CronJobs"},
		"an unknown version":               {"apiVersion: batch/v1", "apiVersion: batch/v1beta1"},
	} {
		bad := strings.Replace(good, c[0], c[1], 1)
		if bad == good {
			t.Errorf("%s: %q is not in the manifests", name, c[0])
			continue
		}
		if _, err := decodeStrictly([]byte(bad)); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
