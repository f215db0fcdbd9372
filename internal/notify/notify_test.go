package notify_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"reverie/internal/notify"
	"reverie/internal/reverie"
)

var noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

// hook is a webhook that answers with these statuses, the last of them again and again.
type hook struct {
	*httptest.Server
	mu       sync.Mutex
	statuses []int
	got      []*http.Request
	bodies   []string
	log      strings.Builder
}

func newHook(t *testing.T, statuses ...int) *hook {
	h := &hook{statuses: statuses}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.got, h.bodies = append(h.got, r), append(h.bodies, string(body))
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(h.statuses[0])
		h.statuses = h.statuses[min(1, len(h.statuses)-1):]
	}))
	t.Cleanup(h.Close)
	return h
}

// send sends notices and waits until they are gone.
func (h *hook) send(t *testing.T, secret string, claim func(string, notify.Type) (bool, error), notices ...notify.Notice) {
	t.Helper()
	n, err := notify.New(notify.Options{URL: h.URL + "/in?token=t0ken", Secret: secret, Delay: time.Nanosecond,
		Claim: func(_ context.Context, groupID string, of notify.Type) (bool, error) { return claim(groupID, of) },
		Now:   func() time.Time { return noon }, Log: slog.New(slog.NewTextHandler(&h.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for _, notice := range notices {
		n.Send(notice)
	}
	n.Close(t.Context())
	if strings.Contains(h.log.String(), "t0ken") {
		t.Errorf("the log shows the address: %s", h.log.String())
	}
}

func always(string, notify.Type) (bool, error) { return true, nil }

var held = notify.Notice{Type: notify.HeldPlan, GroupID: "g1", RunID: "r1", Text: "A plan waits."}

// TestSigned: a request is signed over its id, time and body, by the bytes of the secret.
func TestSigned(t *testing.T) {
	for secret, key := range map[string]string{"whsec_" + base64.StdEncoding.EncodeToString([]byte("\x00\xff key")): "\x00\xff key", "plain": "plain", "": ""} {
		h := newHook(t, 200)
		h.send(t, secret, always, held)
		if len(h.got) != 1 {
			t.Fatalf("%d requests: %s", len(h.got), h.log.String())
		}
		r := h.got[0].Header
		sum := hmac.New(sha256.New, []byte(key))
		sum.Write([]byte(r.Get("webhook-id") + ".1768478400." + h.bodies[0]))
		want := "v1," + base64.StdEncoding.EncodeToString(sum.Sum(nil))
		if key == "" {
			want = ""
		}
		if r.Get("webhook-signature") != want || r.Get("webhook-timestamp") != "1768478400" || len(r.Get("webhook-id")) < 20 {
			t.Errorf("%q: %v, want %s", secret, r, want)
		}
		var body map[string]string
		if err := json.Unmarshal([]byte(h.bodies[0]), &body); err != nil || len(body) != 5 || body["type"] != "held_plan" ||
			body["group_id"] != "g1" || body["run_id"] != "r1" || body["text"] != "A plan waits." || body["at"] != "2026-01-15T12:00:00Z" {
			t.Errorf("%s: %v", h.bodies[0], err)
		}
	}
	for _, secret := range []string{"whsec_!", "whsec_"} { // an empty key would sign nothing, and nobody would know
		if _, err := notify.New(notify.Options{Secret: secret}); !errors.Is(err, reverie.ErrConfiguration) {
			t.Errorf("the secret %q: %v", secret, err)
		}
	}
}

// TestRetried: what may pass is tried again with the same id, a few times; what will not pass is not.
func TestRetried(t *testing.T) {
	for name, c := range map[string]struct {
		statuses []int
		requests int
		log      string
	}{
		"at once": {[]int{204}, 1, ""}, "later": {[]int{500, 429, 200}, 3, ""}, "never": {[]int{503}, 4, "HTTP 503"},
		"refused": {[]int{403}, 1, "HTTP 403"}, "elsewhere": {[]int{307}, 1, "redirects are not followed"},
	} {
		h := newHook(t, c.statuses...)
		h.send(t, "s", always, held)
		if len(h.got) != c.requests || (c.log == "") != (h.log.Len() == 0) || !strings.Contains(h.log.String(), c.log) {
			t.Errorf("%s: %d requests, log %s", name, len(h.got), h.log.String())
		}
		for _, r := range h.got {
			if r.Header.Get("webhook-id") != h.got[0].Header.Get("webhook-id") || r.URL.Path != "/in" {
				t.Errorf("%s: %s, id %s", name, r.URL, r.Header.Get("webhook-id"))
			}
		}
	}
}

// TestClaimed: nothing is sent without leave, nor where that cannot be had.
func TestClaimed(t *testing.T) {
	h := newHook(t, 200)
	h.send(t, "", func(group string, of notify.Type) (bool, error) {
		if group == "broken" {
			return true, errors.New("no database")
		}
		return of == notify.BudgetSpent, nil
	}, held, notify.Notice{Type: notify.BudgetSpent, GroupID: "g2"}, notify.Notice{Type: notify.BudgetSpent, GroupID: "broken"})
	if len(h.bodies) != 1 || !strings.Contains(h.bodies[0], "g2") || !strings.Contains(h.log.String(), "no database") {
		t.Errorf("%q, log %s", h.bodies, h.log.String())
	}
}

// TestNeverWaitsFor: a webhook that hangs keeps neither who sends from sending nor the process from ending.
func TestNeverWaitsFor(t *testing.T) {
	asked := make(chan struct{}, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer srv.Close()
	var log strings.Builder
	n, err := notify.New(notify.Options{URL: srv.URL, Claim: func(context.Context, string, notify.Type) (bool, error) { return true, nil },
		Now: time.Now, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	n.Send(held)
	<-asked
	for range 1000 {
		n.Send(held)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n.Close(ctx)
	if lost := strings.Count(log.String(), "a notice is lost"); lost != 1000-64 || !strings.Contains(log.String(), "not delivered") {
		t.Errorf("%d are lost", lost)
	}
	(*notify.Notifier)(nil).Send(held)
	(*notify.Notifier)(nil).Close(t.Context())
}
