package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/internal/webhook"
	"reverie/store"
	"reverie/store/hooks"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

var noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

// got is a request that a receiver has had.
type got struct {
	id, group, statement string
	header               http.Header
	body                 []byte
}

// world is a store with a webhook of all groups, its receiver, and a clock that tests move.
type world struct {
	*hooks.Hooks
	t      *testing.T
	store  *store.Store
	hook   reverie.Webhook
	answer http.HandlerFunc // nil: it takes what it is sent

	mu   sync.Mutex
	now  time.Time
	had  []got // in order
	log  strings.Builder
	said map[string]int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, now: noon, said: map[string]int{}}
	w.store = pgtest.Open(t, pg.Options{Now: w.clock})
	w.Hooks = hooks.New(w.store.DB())
	srv := httptest.NewServer(http.HandlerFunc(w.receive))
	t.Cleanup(srv.Close)
	w.hook = reverie.Webhook{ID: reverie.NewID(), URL: srv.URL + "/in", Secret: webhook.NewSecret(), Statements: true, CreatedAt: noon}
	check(t, w.AddWebhook(t.Context(), w.hook))
	return w
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) later(by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(by)
}

// Write takes the log.
func (w *world) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(b)
}

func (w *world) receive(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var e struct {
		Data struct {
			GroupID   string `json:"group_id"`
			Statement string
		}
	}
	if err := json.Unmarshal(body, &e); err != nil {
		w.t.Error(err)
	}
	w.mu.Lock()
	w.had = append(w.had, got{r.Header.Get("webhook-id"), e.Data.GroupID, e.Data.Statement, r.Header, body})
	answer := w.answer
	w.mu.Unlock()
	if answer != nil {
		answer(rw, r)
	}
}

// deliverer is one process's.
func (w *world) deliverer(o webhook.Options) *webhook.Deliverer {
	o.Now = w.clock
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	d := &webhook.Deliverer{Store: w.Hooks, Sender: webhook.NewSender(o), GiveUp: 5 * 24 * time.Hour, Keep: 30 * 24 * time.Hour,
		Random: func() float64 { return 0.5 }, Now: w.clock, After: time.After, Log: slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelInfo})),
		Count: func(outcome string, n int) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.said[outcome] += n
		}}
	w.t.Cleanup(d.Sender.Close)
	return d
}

var private = webhook.Options{AllowPrivate: true}

// says has a person write that a group remembers something.
func (w *world) says(group string, statements ...string) {
	w.t.Helper()
	_, err := w.store.EnsureGroup(w.t.Context(), reverie.Group{ID: group, TimeZone: "UTC"})
	check(w.t, err)
	for _, s := range statements {
		_, err := w.store.Edit(w.t.Context(), reverie.Edit{GroupID: group, Action: reverie.ActionCreate, Reason: "so",
			Words: reverie.Words{Statement: s, ContentHash: text.ContentHash(s), Author: "Ann"}})
		check(w.t, err)
	}
}

// round has what is due sent, once.
func (w *world) round(d *webhook.Deliverer) {
	w.t.Helper()
	_, err := d.Round(w.t.Context(), nil)
	check(w.t, err)
}

// heard are the statements that came, and forgets them.
func (w *world) heard() (list []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, g := range w.had {
		list = append(list, g.statement)
	}
	w.had = nil
	return list
}

func (w *world) want(what string, statements ...string) {
	w.t.Helper()
	if list := w.heard(); !slices.Equal(list, statements) {
		w.t.Errorf("%s: heard %q, want %q", what, list, statements)
	}
}

func (w *world) state() reverie.Webhook {
	w.t.Helper()
	h, err := w.Webhook(w.t.Context(), "", w.hook.ID)
	check(w.t, err)
	return h
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// A receiver verifies what it is sent by the library of the standard.
func TestSignatureVerifies(t *testing.T) {
	w := newWorld(t)
	w.says("g1", "likes <tea> & “cake”")
	w.round(w.deliverer(private))
	verifier, err := standardwebhooks.NewWebhook(w.hook.Secret)
	check(t, err)
	g := w.had[0]
	check(t, verifier.VerifyIgnoringTimestamp(g.body, g.header))
	if g.header.Get("webhook-timestamp") != fmt.Sprint(noon.Unix()) || !strings.HasPrefix(g.id, "evt_") || g.header.Get("Content-Type") != "application/json" {
		t.Errorf("%v", g.header)
	}
	if err := verifier.VerifyIgnoringTimestamp(append(g.body, ' '), g.header); err == nil {
		t.Error("another body verifies too")
	}
	w.want("all of it", "likes <tea> & “cake”")
}

// Whatever a receiver does, an event waits until it is taken, ever longer, and so do those after it in its group.
func TestFailsUntilItDoesNot(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	for name, answer := range map[string]http.HandlerFunc{
		"500": status(500), "429": status(429), "400": status(400), "304": status(304),
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		},
		"hangs": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"breaks off": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			_ = conn.Close()
		},
		"headers without end": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 1<<18))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			o := private
			if name == "hangs" {
				o.Timeout = 50 * time.Millisecond
			}
			d := w.deliverer(o)
			w.says("g1", "first", "second")
			w.answer = answer
			wait := 5 * time.Second * 3 / 4 // the chance is always one half
			var id string
			for i := range 3 {
				w.round(d)
				w.round(d) // not yet
				w.mu.Lock()
				if len(w.had) != 1 || id != "" && id != w.had[0].id {
					t.Errorf("attempt %d: %+v", i, w.had)
				}
				id = w.had[0].id
				w.mu.Unlock()
				w.want("an attempt", "first")
				if h := w.state(); h.Failures != i+1 || h.LastError == "" || strings.Contains(h.LastError, "/in") {
					t.Errorf("%+v", h)
				}
				w.later(wait - time.Millisecond)
				w.round(d)
				w.want("too early")
				w.later(time.Millisecond)
				wait *= 2
			}
			w.mu.Lock()
			w.answer = nil
			w.mu.Unlock()
			w.round(d)
			w.want("at last", "first", "second")
			if h := w.state(); h.Failures != 0 || h.FailingSince != nil || h.Waiting != 0 || h.LastError != "" {
				t.Errorf("%+v", h)
			}
		})
	}
}

// A webhook that asks for time gets it, an hour at most.
func TestRetryAfter(t *testing.T) {
	for after, want := range map[string]time.Duration{"600": 10 * time.Minute, "Thu, 15 Jan 2026 12:20:00 GMT": 20 * time.Minute, "1000000": time.Hour,
		"2": 3750 * time.Millisecond, "-5": 3750 * time.Millisecond, "soon": 3750 * time.Millisecond, "": 3750 * time.Millisecond} {
		t.Run(after, func(t *testing.T) {
			w := newWorld(t)
			d := w.deliverer(private)
			w.says("g1", "tea")
			w.answer = func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Retry-After", after)
				rw.WriteHeader(http.StatusTooManyRequests)
			}
			w.round(d)
			w.want("an attempt", "tea")
			w.later(want - time.Millisecond)
			w.says("g2", "cake")
			w.round(d)
			w.want("too early")
			w.later(time.Millisecond)
			w.answer = nil
			w.round(d)
			if list := w.heard(); len(list) == 0 {
				t.Error("nothing came in time")
			}
		})
	}
}

// What is sent again while an attempt fails is sent again: the attempt is neither its end nor the webhook's.
func TestReplayMeanwhile(t *testing.T) {
	w := newWorld(t)
	d := w.deliverer(private)
	w.says("g1", "tea")
	replay := func(http.ResponseWriter, *http.Request) {
		w.answer = nil
		_, err := w.ReplayEvents(t.Context(), w.hook.ID, w.clock(), "") // its event is older
		check(t, err)
	}
	for name, answer := range map[string]http.HandlerFunc{"gone": status(410), "fails": status(500), "taken": status(200)} {
		t.Run(name, func(t *testing.T) {
			w.later(time.Second)
			w.says("g1", name)
			w.answer = func(rw http.ResponseWriter, r *http.Request) {
				replay(rw, r)
				answer(rw, r)
			}
			w.round(d)
			w.round(d)
			if h := w.state(); h.Waiting != 0 || h.DisabledAt != nil || h.Failures != 0 || w.said["disabled"] > 1 {
				t.Errorf("%+v %v", h, w.said)
			}
			if list := w.heard(); len(list) < 2 || list[0] != list[1] || !slices.Contains(list, name) {
				t.Errorf("heard %q", list)
			}
		})
	}
}

// A receiver that answers without end is heard for a moment only.
func TestHugeAnswer(t *testing.T) {
	w := newWorld(t)
	wrote := make(chan int, 1)
	w.answer = func(rw http.ResponseWriter, _ *http.Request) {
		n, block := 0, make([]byte, 1<<16)
		for range 1 << 14 { // a gigabyte
			m, err := rw.Write(block)
			if n += m; err != nil {
				break
			}
		}
		wrote <- n
	}
	w.says("g1", "tea")
	w.round(w.deliverer(private))
	if n := <-wrote; n >= 1<<29 {
		t.Errorf("it took %d bytes", n)
	}
	if w.state().Waiting != 0 {
		t.Error("a 200 is a 200")
	}
}

// A 410 disables at once; failing for days does, too. Sending again enables, and nothing was lost.
func TestDisabled(t *testing.T) {
	w := newWorld(t)
	d := w.deliverer(private)
	w.says("g1", "tea")
	w.answer = status(410)
	w.round(d)
	if h := w.state(); h.DisabledAt == nil || h.Waiting != 1 || !strings.Contains(h.LastError, "410") || !strings.Contains(w.log.String(), "webhooks replay") {
		t.Errorf("%+v, log %s", h, &w.log)
	}
	w.later(time.Hour)
	w.says("g1", "cake")
	w.round(d)
	w.want("while it is disabled", "tea")

	replay := func() {
		t.Helper()
		_, err := w.ReplayEvents(t.Context(), w.hook.ID, w.clock().Add(-time.Hour), "")
		check(t, err)
	}
	replay()
	w.answer = status(500)
	w.round(d)
	w.later(5*24*time.Hour - time.Second)
	w.round(d)
	if w.state().DisabledAt != nil {
		t.Error("disabled too early")
	}
	w.later(time.Hour)
	w.round(d)
	if h := w.state(); h.DisabledAt == nil || w.said["disabled"] != 2 {
		t.Errorf("%+v %v", h, w.said)
	}
	w.heard()
	w.answer = nil
	_, err := w.ReplayEvents(t.Context(), w.hook.ID, noon, "")
	check(t, err)
	w.round(d)
	w.want("in the end", "tea", "cake")
}

// An event that nobody takes holds up its group, for days at most, and no other group.
func TestPoison(t *testing.T) {
	w := newWorld(t)
	d := w.deliverer(private)
	w.answer = func(rw http.ResponseWriter, _ *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.had[len(w.had)-1].statement == "poison" {
			rw.WriteHeader(500)
		}
	}
	w.says("g1", "poison", "after it")
	taken := 0
	for day := range 6 * 24 {
		w.says("g2", fmt.Sprintf("at %d", day))
		for range 3 { // others are tried as soon as the webhook may answer again
			w.round(d)
			w.later(20 * time.Minute)
		}
		for _, s := range w.heard() {
			if strings.HasPrefix(s, "at ") {
				taken++
			}
			if s == "after it" && (day < 5*24 || w.said["given_up"] != 1) {
				t.Errorf("after it in hour %d: %v", day, w.said)
			}
		}
	}
	if h := w.state(); taken != 6*24 || h.Waiting != 0 || h.DisabledAt != nil || w.said["given_up"] != 1 {
		t.Errorf("%d of the other group came: %+v %v", taken, h, w.said)
	}
}

// Nothing goes to an address that is not public, under whatever name, unless that is allowed.
func TestPrivateAddresses(t *testing.T) {
	w := newWorld(t)
	s := webhook.NewSender(webhook.Options{Timeout: 10 * time.Second, Now: w.clock})
	defer s.Close()
	port := w.hook.URL[strings.LastIndex(w.hook.URL, ":"):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1",
		"169.254.169.254", "100.64.0.1", "[fe80::1]", "[fc00::1]", "[64:ff9b::7f00:1]", "224.0.0.1", "2130706433", "0x7f.1"} {
		if a, err := s.Send(t.Context(), "http://"+host+port, nil, "evt_1", nil); err == nil || a.Status != 0 ||
			!strings.Contains(err.Error(), "not public") && !strings.Contains(err.Error(), "no such host") {
			t.Errorf("%s: %d %v", host, a.Status, err)
		}
		_ = s.CheckURL("https://" + host) // names may pass; what they lead to does not
	}
	for address, ok := range map[string]bool{"https://bot.example.com/in": true, "https://8.8.8.8/": true, "http://bot.example.com": false, "https://10.1.2.3": false,
		"https://[::1]:8443/x": false, "ftp://bot.example.com": false, "https://": false, "bot": false, "https://" + strings.Repeat("a", 2000): false} {
		if err := s.CheckURL(address); (err == nil) != ok || err != nil && !errors.Is(err, reverie.ErrInvalid) {
			t.Errorf("%s: %v", address, err)
		}
	}
	w.says("g1", "tea")
	w.round(w.deliverer(webhook.Options{}))
	w.want("refused")
	if h := w.state(); h.Waiting != 1 || !strings.Contains(h.LastError, "allow_private") {
		t.Errorf("%+v", h)
	}
}

// Several processes share the work: each event comes, those of a group in order, whatever fails.
func TestManySend(t *testing.T) {
	w := newWorld(t)
	const groups, events = 6, 12
	for g := range groups {
		for i := range events {
			w.says(fmt.Sprintf("g%d", g), fmt.Sprintf("%03d", i))
		}
	}
	chance := rand.New(rand.NewPCG(1, 2))
	w.answer = func(rw http.ResponseWriter, _ *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if chance.IntN(4) == 0 {
			rw.WriteHeader(503)
		}
	}
	var all sync.WaitGroup
	for range 4 {
		d := w.deliverer(private)
		all.Go(func() {
			for w.state().Waiting > 0 {
				if _, err := d.Round(t.Context(), nil); err != nil {
					t.Error(err)
					return
				}
				w.later(time.Second) // far less than an event is taken for
			}
		})
	}
	all.Wait()
	seen, came := map[string]string{}, map[string]bool{}
	for _, g := range w.had {
		if seen[g.group] == "" && g.statement != "000" || g.statement < seen[g.group] {
			t.Errorf("%s: %s after %q", g.group, g.statement, seen[g.group])
		}
		seen[g.group] = g.statement
		came[g.group+g.statement] = true
	}
	if len(came) != groups*events {
		t.Errorf("%d of %d events came", len(came), groups*events)
	}
}

// It ends when it is told to, and what is being sent is finished before.
func TestRunEnds(t *testing.T) {
	w := newWorld(t)
	w.says("g1", "tea", "cake")
	stop, asked, go_ := make(chan struct{}), make(chan struct{}), make(chan struct{})
	w.answer = func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-go_
	}
	d := w.deliverer(private)
	var ages []time.Duration
	d.Waiting = func(age time.Duration) { ages = append(ages, age) }
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Run(t.Context(), stop)
	}()
	<-asked
	close(stop)
	close(go_)
	<-done
	w.want("one of them", "tea")
	if h := w.state(); h.Waiting != 1 || h.Failures != 0 || len(ages) == 0 || slices.Max(ages) > 0 {
		t.Errorf("%+v %v", h, ages)
	}

	ctx, cancel := context.WithCancel(t.Context())
	w.mu.Lock()
	w.answer = func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}
	w.mu.Unlock()
	d.Drain(ctx, nil)
	if h := w.state(); h.Waiting != 1 || h.Failures != 0 {
		t.Errorf("that we broke off is no failure of the webhook's: %+v", h)
	}
}

// Who has sent for long enough begins nothing more, and hears what was begun.
func TestDrainEnds(t *testing.T) {
	w := newWorld(t)
	w.says("g1", "tea", "cake")
	stop := make(chan struct{})
	w.answer = func(http.ResponseWriter, *http.Request) { close(stop) }
	d := w.deliverer(private)
	d.Drain(t.Context(), stop)
	w.want("until the end", "tea")
	if h := w.state(); h.Waiting != 1 || h.Failures != 0 || w.said["sent"] != 1 {
		t.Errorf("%+v %v", h, w.said)
	}
	w.answer = nil
	d.Drain(t.Context(), nil)
	w.want("all that waits", "cake")
}

// What is too old to be kept is forgotten, with a word where it was never sent.
func TestOldEventsGo(t *testing.T) {
	w := newWorld(t)
	w.says("g1", "tea")
	w.answer = status(410)
	d := w.deliverer(private)
	w.round(d)
	w.later(31 * 24 * time.Hour)
	stop := make(chan struct{})
	d.After = func(time.Duration) <-chan time.Time {
		close(stop)
		return nil
	}
	d.Run(t.Context(), stop)
	if w.state().Waiting != 0 || w.said["lost"] != 1 || !strings.Contains(w.log.String(), "never sent") {
		t.Errorf("%v %s", w.said, &w.log)
	}
}

// A webhook that takes its time does not hold up the others: a round has so much of it for each.
func TestSlow(t *testing.T) {
	w := newWorld(t)
	w.says("g1", "first", "second", "third")
	w.answer = func(http.ResponseWriter, *http.Request) { w.later(6 * time.Second) }
	d := w.deliverer(private)
	w.round(d)
	w.want("in a round", "first", "second")
	w.round(d)
	w.want("in the next one", "third")
}

// Webhooks that answer go before those that do not.
func TestThoseThatAnswerGoFirst(t *testing.T) {
	w := newWorld(t)
	w.says("g1", "tea")
	w.answer = status(500)
	w.round(w.deliverer(private))
	well := reverie.Webhook{ID: reverie.NewID(), URL: w.hook.URL, Secret: w.hook.Secret, CreatedAt: noon}
	check(t, w.AddWebhook(t.Context(), well))
	w.says("g2", "cake")
	w.later(time.Hour)
	due, err := w.DueLanes(t.Context(), 1)
	check(t, err)
	if len(due) != 1 || due[0].WebhookID != well.ID {
		t.Errorf("due is %+v", due)
	}
}

// An event that has waited behind others, or for a webhook that was out of reach, is not given up at its first failure.
func TestOldButNotTried(t *testing.T) {
	w := newWorld(t)
	w.says("g1", "tea")
	w.later(6 * 24 * time.Hour) // nothing was sent
	d := w.deliverer(private)
	w.answer = status(500)
	for n := 1; n < 10; n++ {
		w.round(d)
		w.later(time.Hour)
		if w.said["failed"] != n || w.said["given_up"] != 0 {
			t.Fatalf("attempt %d: %v", n, w.said)
		}
	}
	w.round(d)
	if w.said["given_up"] != 1 {
		t.Errorf("%v", w.said)
	}
}

// What a server says that is no webhook is repeated to nobody.
func TestAnswersAreNotRepeated(t *testing.T) {
	w := newWorld(t)
	for _, said := range []string{"SECRET\r\n", "HTTP/1.1 SECRET\r\n\r\n", "HTTP/1.1 200 OK\r\nSECRET\r\n\r\n", "HTTP/9.SECRET 200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: SECRET\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: SECRET\r\n\r\n", ""} {
		w.answer = func(rw http.ResponseWriter, _ *http.Request) {
			conn, _, err := rw.(http.Hijacker).Hijack()
			check(t, err)
			_, _ = io.WriteString(conn, said)
			_ = conn.Close()
		}
		_, err := w.deliverer(private).Sender.Send(t.Context(), w.hook.URL, nil, "evt_1", []byte("{}"))
		want := "it answered in something other than HTTP"
		if said == "" {
			want = "it ended the connection without an answer"
		}
		if err == nil || err.Error() != "the webhook could not be reached: "+want {
			t.Errorf("%q: %v", said, err)
		}
	}
}

// A group has so many webhooks at most.
func TestTooMany(t *testing.T) {
	w := newWorld(t)
	add := func(group string) error {
		return w.AddWebhook(t.Context(), reverie.Webhook{ID: reverie.NewID(), GroupID: group, URL: w.hook.URL, Secret: w.hook.Secret, CreatedAt: noon})
	}
	for range 20 {
		check(t, add("g1"))
	}
	if err := add("g1"); !errors.Is(err, reverie.ErrConflict) || !strings.Contains(err.Error(), "there are 20 already") {
		t.Errorf("one more: %v", err)
	}
	check(t, add("g2"))
}
