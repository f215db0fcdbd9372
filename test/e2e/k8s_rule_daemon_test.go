package e2e

import (
	appsv1 "k8s.io/api/apps/v1"
)

var daemonRules = []rule{
	{name: "is replaced by one that is ready", of: isDaemon,
		keeps: func(w workload) bool {
			s := w.daemon.Spec.Strategy
			return is(w.daemon.Spec.Replicas, map[string]int32{"daemon": 1, "api": 2}[w.component()]) && s.Type == appsv1.RollingUpdateDeploymentStrategyType && s.RollingUpdate != nil &&
				s.RollingUpdate.MaxSurge != nil && s.RollingUpdate.MaxSurge.IntValue() == 1 &&
				s.RollingUpdate.MaxUnavailable != nil && s.RollingUpdate.MaxUnavailable.IntValue() == 0 &&
				within(w.daemon.Spec.RevisionHistoryLimit, 1, 10)
		},
		breaks: []func(workload){
			func(w workload) { w.daemon.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType },
			func(w workload) { w.daemon.Spec.Strategy.RollingUpdate.MaxUnavailable.IntVal = 1 },
			func(w workload) { *w.daemon.Spec.Replicas += 1 },
		}},
	{name: "selects its own pods", of: isDaemon,
		keeps: func(w workload) bool {
			if w.daemon.Spec.Selector == nil {
				return false
			}
			want := w.daemon.Spec.Selector.MatchLabels
			return want["app.kubernetes.io/name"] == "reverie" && want["app.kubernetes.io/component"] == w.component()
		},
		breaks: []func(workload){func(w workload) { delete(w.daemon.Spec.Selector.MatchLabels, "app.kubernetes.io/component") }}},
	{name: "is probed where it listens", of: isDaemon,
		keeps: keepsProbes,
		breaks: []func(workload){
			func(w workload) { setEnv(w, "REVERIE_HTTP_LISTEN", ":8471") },
			func(w workload) { setEnv(w, "REVERIE_HTTP_LISTEN", "127.0.0.1:8470") },
			func(w workload) { w.pod.Containers[0].LivenessProbe.HTTPGet.Path = "/readyz" },
			func(w workload) { w.pod.Containers[0].ReadinessProbe.HTTPGet.Port.StrVal = "metrics" },
			func(w workload) { w.pod.Containers[0].StartupProbe.FailureThreshold = 1 },
			func(w workload) { w.daemon.Spec.Template.Annotations["prometheus.io/port"] = "8080" },
		}},
}
