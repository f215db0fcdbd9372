package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"reverie/internal/reverie"
	"reverie/internal/telemetry"
)

var (
	exposedMetric = regexp.MustCompile(`(?m)^([a-z_]+)(?:\{(.*)\})? `)
	labelOf       = regexp.MustCompile(`([a-z_]+)="`)
	usedMetric    = regexp.MustCompile(`\b((?:reverie|kube|up)[a-z_]*)\b(?:\{([^}]*)\})?`)
	usedGrouping  = regexp.MustCompile(`by \(([^)]*)\)`)
)

// servedMetrics are the names that a daemon serves once each thing has happened, with labels.
func servedMetrics(t *testing.T) map[string][]string {
	t.Helper()
	m := telemetry.New("test", nil, reverie.Jobs...)
	m.RunDone(reverie.JobEvolve, reverie.RunFailed, false, reverie.Stats{}, time.Second)
	m.FanOutDone(reverie.JobEvolve, 1, 1, time.Second, true)
	m.RequestDone("/x", "GET", 200, time.Second)
	m.ReaderConfined(true)
	if err := m.Ledger(nil).RecordCall(t.Context(), reverie.Call{Purpose: "evolve", Provider: "p", Model: "m", Outcome: "ok"}); err != nil {
		t.Fatal(err)
	}
	server := &telemetry.Server{Listen: "127.0.0.1:0", Metrics: m}
	addr, err := server.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Stop(t.Context()) }()
	r, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	served := map[string][]string{}
	for _, line := range exposedMetric.FindAllStringSubmatch(string(body), -1) {
		for _, label := range append([][]string{{"", ""}}, labelOf.FindAllStringSubmatch(line[2], -1)...) {
			served[line[1]] = append(served[line[1]], label[1])
		}
	}
	if len(served["reverie_runs_total"]) == 0 {
		t.Fatalf("no metric was read of\n%s", body)
	}
	return served
}

// foreign are metrics of kube-state-metrics and of Prometheus itself, with the labels that are used.
var foreign = map[string][]string{
	"up":                        {"namespace", "app_kubernetes_io_component"},
	"kube_cronjob_spec_suspend": {"namespace", "cronjob"},
	"kube_cronjob_status_last_successful_time": {"namespace", "cronjob"},
	"kube_job_failed":                          {"namespace", "job_name", "condition"},
}

// wrongExpr says what a query asks for that is not there, "" for nothing.
func wrongExpr(served map[string][]string, expr string) string {
	ofPod := []string{"namespace", "app_kubernetes_io_component"} // the PodMonitor brings them
	found := usedMetric.FindAllStringSubmatch(expr, -1)
	if len(found) == 0 {
		return "no metric"
	}
	var known []string
	for _, m := range found {
		labels, there := foreign[m[1]]
		if !there {
			if labels, there = served[m[1]]; !there {
				return m[1]
			}
			labels = append(slices.Clone(labels), ofPod...)
		}
		known = append(known, labels...)
		for _, l := range labelOf.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(labels, l[1]) {
				return m[1] + " has no " + l[1]
			}
		}
	}
	for _, g := range usedGrouping.FindAllStringSubmatch(expr, -1) {
		for label := range strings.SplitSeq(g[1], ",") {
			if label = strings.TrimSpace(label); !slices.Contains(known, label) {
				return "nothing has the label " + label
			}
		}
	}
	return ""
}

// Rules and the dashboard ask for what is there.
func TestMonitoringNames(t *testing.T) {
	t.Parallel()
	served := servedMetrics(t)
	read := func(name string, into any) {
		t.Helper()
		text, err := os.ReadFile(k8sDir + "/monitoring/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".json") {
			err = json.Unmarshal(text, into)
		} else {
			err = yaml.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var rules struct {
		Spec struct {
			Groups []struct {
				Rules []struct {
					Alert, Expr, For    string
					Labels, Annotations map[string]string
				}
			}
		}
	}
	read("rules.yaml", &rules)
	var alerts []string
	for _, r := range rules.Spec.Groups[0].Rules {
		alerts = append(alerts, r.Alert)
		if wrong := wrongExpr(served, r.Expr); wrong != "" {
			t.Errorf("the alert %s asks for what is not there: %s", r.Alert, wrong)
		}
		if _, err := time.ParseDuration(r.For); err != nil || r.Labels["severity"] == "" || r.Annotations["summary"] == "" {
			t.Errorf("the alert %s is %+v", r.Alert, r)
		}
	}
	for _, alert := range []string{"ReverieAbsent", "ReverieNeverSucceeded", "ReverieDaemonNeverSucceeded", "ReverieFailing", "ReveriePlansHeld", "ReverieSpending"} {
		if !slices.Contains(alerts, alert) {
			t.Errorf("there is no alert %s", alert)
		}
	}
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	read("dashboard.json", &board)
	if len(board.Panels) == 0 {
		t.Error("the dashboard has no panel")
	}
	for i, p := range board.Panels {
		if p.ID != i+1 || len(p.Targets) != 1 || p.Title == "" {
			t.Errorf("panel %d is %+v", i, p)
			continue
		}
		if wrong := wrongExpr(served, p.Targets[0].Expr); wrong != "" {
			t.Errorf("the panel %q asks for what is not there: %s", p.Title, wrong)
		}
	}
	for _, bad := range []string{"reverie_runs", `reverie_runs_total{group="g"}`, "sum by (group) (reverie_runs_total)", "1", "kube_job"} {
		if wrongExpr(served, bad) == "" {
			t.Errorf("%q is thought to be there", bad)
		}
	}
}
