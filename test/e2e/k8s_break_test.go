package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

var rules = slices.Concat(podRules, jobRules, daemonRules, apiRules)

// broken are the names of the rules that a workload does not keep.
func broken(w workload) []string {
	var names []string
	for _, r := range rules {
		if (r.of == nil || r.of(w)) && !r.keeps(w) {
			names = append(names, r.name)
		}
	}
	return names
}

func TestWorkloadsKeepTheRules(t *testing.T) {
	t.Parallel()
	for _, overlay := range overlays {
		for _, w := range workloads(t, overlay) {
			t.Run(overlay+"/"+w.name, func(t *testing.T) {
				for _, name := range broken(w) {
					t.Errorf("broken rule: %s", name)
				}
				if _, err := w.config(); err != nil {
					t.Errorf("its settings: %v", err)
				}
				if err := commandProblem(w); err != nil {
					t.Errorf("its command: %v", err)
				}
				if w.job != nil {
					if problem := policyProblem(w); problem != "" {
						t.Errorf("its podFailurePolicy: %s", problem)
					}
				}
			})
		}
	}
}

// all are the overlays that have every workload between them.
var all = []string{"backfill", "daemon", "api"}

// A rule that nothing breaks would hold of anything.
func TestRulesCanBeBroken(t *testing.T) {
	t.Parallel()
	tried := map[string]bool{}
	for _, overlay := range all {
		for _, w := range workloads(t, overlay) {
			for _, r := range rules {
				if r.of != nil && !r.of(w) {
					continue
				}
				tried[r.name] = true
				for n, damage := range r.breaks {
					c := w.clone()
					damage(c)
					if r.keeps(c) {
						t.Errorf("%s: break %d of the rule %q goes unnoticed", w.name, n, r.name)
					}
				}
			}
		}
	}
	for _, r := range rules {
		if !tried[r.name] || len(r.breaks) == 0 {
			t.Errorf("the rule %q was never tried", r.name)
		}
	}
}

// optional may be left out of a workload without breaking a rule: that would mean
// the same, or it is what a person chooses.
var optional = []string{".args", ".periodSeconds", ".timeoutSeconds", ".jobTemplate.metadata"}

// Every other field that the manifests set is there for a rule.
func TestEveryFieldIsHeldByARule(t *testing.T) {
	t.Parallel()
	tried := map[string]bool{} // the API's Deployment is the daemon's, and more
	for _, overlay := range all {
		for _, w := range workloads(t, overlay) {
			if slices.Contains([]string{"extract", "dream", "maintain", "pull", "tools"}, w.component()) {
				continue // of the CronJobs, which are alike, evolve's
			}
			tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w.object)
			if err != nil {
				t.Fatal(err)
			}
			paths := fields(tree["spec"], "spec")
			before := broken(w)
			if len(paths) < 40 {
				t.Errorf("%s: only %d fields are there to be taken away", w.name, len(paths))
			}
			for _, path := range paths {
				name := ""
				for _, step := range path {
					name += fmt.Sprintf(".%v", step)
				}
				kind := fmt.Sprintf("%T%s", w.object, name)
				if tried[kind] {
					continue
				}
				tried[kind] = isDaemon(w)
				if slices.ContainsFunc(optional, func(o string) bool { return strings.Contains(name, o) }) {
					continue
				}
				if slices.Equal(broken(w.without(t, path)), before) {
					t.Errorf("%s: no rule notices that %s is gone", w.name, name)
				}
			}
		}
	}
}

// fields are the paths of all fields and list items below a node.
func fields(node any, path ...any) [][]any {
	var out [][]any
	add := func(key, value any) {
		at := append(slices.Clone(path), key)
		out = append(append(out, at), fields(value, at...)...)
	}
	switch node := node.(type) {
	case map[string]any:
		for key, value := range node {
			add(key, value)
		}
	case []any:
		for i, value := range node {
			add(i, value)
		}
	}
	return out
}

// without is a copy of the workload that lacks one field or list item.
func (w workload) without(t *testing.T, path []any) workload {
	t.Helper()
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w.object)
	if err != nil {
		t.Fatal(err)
	}
	c := w.clone().object
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(dropped(tree, path).(map[string]any), c); err != nil {
		t.Fatalf("%s without %v: %v", w.name, path, err)
	}
	return w.as(c)
}

// dropped is a node without what the path leads to.
func dropped(node any, path []any) any {
	switch node := node.(type) {
	case map[string]any:
		key := path[0].(string)
		if len(path) == 1 {
			delete(node, key)
		} else {
			node[key] = dropped(node[key], path[1:])
		}
		return node
	case []any:
		i := path[0].(int)
		if len(path) == 1 {
			return slices.Delete(node, i, i+1)
		}
		node[i] = dropped(node[i], path[1:])
		return node
	}
	return node
}
