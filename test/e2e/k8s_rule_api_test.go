package e2e

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ownPods tells whether a selector picks the workload's pods, and no other component's.
func ownPods(s *metav1.LabelSelector, w workload) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	others := labels.Set{"app.kubernetes.io/name": "reverie", "app.kubernetes.io/component": "daemon"}
	strangers := labels.Set{"app.kubernetes.io/name": "other", "app.kubernetes.io/component": "api"}
	return s != nil && err == nil && selector.Matches(labels.Set(w.labels)) && !selector.Matches(others) && !selector.Matches(strangers)
}

// lingers is how long a pod goes on after it was told to stop, before it is.
func lingers(w workload) int64 {
	l := w.container().Lifecycle
	if l == nil || l.PreStop == nil || l.PreStop.Sleep == nil {
		return 0
	}
	return l.PreStop.Sleep.Seconds
}

var apiRules = []rule{
	{name: "answers nobody without a token", of: isAPI,
		keeps: func(w workload) bool { cfg, err := w.config(); return err == nil && cfg.HTTP.RequireToken },
		breaks: []func(workload){
			func(w workload) { setEnv(w, "REVERIE_HTTP_REQUIRE_TOKEN", "false") },
		}},
	{name: "answers until nobody is sent to it any more, and has time to end after that", of: isAPI,
		keeps: func(w workload) bool {
			cfg, err := w.config()
			return err == nil && 3 <= lingers(w) && lingers(w) <= 15 && w.pod.TerminationGracePeriodSeconds != nil &&
				time.Duration(*w.pod.TerminationGracePeriodSeconds-lingers(w))*time.Second >= cfg.Jobs.Grace.Duration+20*time.Second
		},
		breaks: []func(workload){
			func(w workload) { w.pod.Containers[0].Lifecycle = nil },
			func(w workload) { w.pod.Containers[0].Lifecycle.PreStop.Sleep.Seconds = 15 },
		}},
	{name: "has its replicas on several nodes, where there are several with room", of: isAPI,
		keeps: func(w workload) bool {
			spread := w.pod.TopologySpreadConstraints
			return len(spread) == 1 && spread[0].TopologyKey == corev1.LabelHostname && spread[0].MaxSkew == 1 &&
				spread[0].WhenUnsatisfiable == corev1.ScheduleAnyway && ownPods(spread[0].LabelSelector, w)
		},
		breaks: []func(workload){
			func(w workload) { w.pod.TopologySpreadConstraints[0].WhenUnsatisfiable = corev1.DoNotSchedule },
			func(w workload) {
				delete(w.pod.TopologySpreadConstraints[0].LabelSelector.MatchLabels, "app.kubernetes.io/component")
			},
		}},
}

// TestAPIObjects: the Service leads to the pods, on the port that they have, and the
// budget keeps one of them.
func TestAPIObjects(t *testing.T) {
	t.Parallel()
	objects := manifests(t, "api")
	w := workloads(t, "api")[0]
	service := of[*corev1.Service](objects)[0].Spec
	if !ownPods(&metav1.LabelSelector{MatchLabels: service.Selector}, w) || service.Type != corev1.ServiceTypeClusterIP {
		t.Errorf("the service is %+v", service)
	}
	if p := service.Ports; len(p) != 1 || p[0].TargetPort != intstr.FromString(w.container().Ports[0].Name) || p[0].Port != w.container().Ports[0].ContainerPort {
		t.Errorf("its ports are %+v", p)
	}
	budget := of[*policyv1.PodDisruptionBudget](objects)[0].Spec
	if !ownPods(budget.Selector, w) || budget.MaxUnavailable != nil || budget.MinAvailable == nil || *budget.MinAvailable != intstr.FromInt32(1) ||
		!is(budget.UnhealthyPodEvictionPolicy, policyv1.AlwaysAllow) {
		t.Errorf("the budget is %+v", budget)
	}
	if *w.daemon.Spec.Replicas <= int32(budget.MinAvailable.IntValue()) {
		t.Error("no pod of it may ever be evicted")
	}
}
