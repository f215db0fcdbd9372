package app

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"reverie/internal/config"
	"reverie/internal/reverie"
	"reverie/internal/telemetry"
	"reverie/jobs"
	"reverie/store"
)

// TestPanicIsTold: a run that panics is an error like any other to those who watch, and
// its stack stands in the log.
func TestPanicIsTold(t *testing.T) {
	t.Parallel()
	told := make(chan []byte, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		told <- body
	}))
	t.Cleanup(server.Close)
	sentry, err := telemetry.OpenSentry(strings.Replace(server.URL, "://", "://key@", 1)+"/42", "staging", "dev")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	a := &App{Config: &config.Config{}, Store: &store.Store{}, Clock: time.Now, Log: slog.New(slog.NewTextHandler(&log, nil)), monitors: monitors{sentry: sentry}}
	j := Job{Name: reverie.JobEvolve, Run: func(context.Context, *jobs.Held, reverie.DueGroup, reverie.Window) (jobs.RunOutcome, error) {
		panic("a hole in the floor")
	}, none: func(string, reverie.Window, error) any { return nil }}
	err = a.RunOne(t.Context(), j, jobs.Request{Group: reverie.Group{ID: "g1"}, DryRun: true}).Err
	a.monitors.close()
	if err == nil || !strings.Contains(err.Error(), "a hole in the floor") {
		t.Errorf("the error is %v", err)
	}
	if !strings.Contains(log.String(), "TestPanicIsTold") {
		t.Errorf("the log does not say where:\n%s", log.String())
	}
	if len(told) != 1 {
		t.Fatalf("%d events were told", len(told))
	}
	if event := <-told; !bytes.Contains(event, []byte(`"group_id":"g1"`)) {
		t.Errorf("told was %q", event)
	}
}
