package web

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"reverie/internal/api"
	"reverie/internal/api/problem"
	"reverie/internal/fault"
	"reverie/internal/reverie"
)

const (
	liveURL       = "/ui/live"
	lookEvery     = time.Second
	beatEvery     = 15   // looks without a change after which the stream sends a sign of life
	watchersAtOne = 8    // streams of one login, or of this machine without logins
	retryAfter    = 3000 // milliseconds until a browser reconnects after the end of a stream
)

// liveView is the running runs, for the template "live".
type liveView struct {
	URL, Here string // addresses of the stream, and of its page
	Zone      *time.Location
	Runs      []reverie.RunProgress
}

// Live is what is under way in a group, "" for all that the visitor sees. Its stream tells what has ended since then,
// less a second: what is under way may have been read so long ago.
func (v *visit) Live(groupID string) (liveView, error) {
	runs, err := v.site.UnderWay(v.Context(), groupID)
	since := v.site.Now().Add(-lookEvery).UTC().Format(time.RFC3339Nano)
	return liveView{query(liveURL, "group", groupID, "since", since), v.place(), v.Zone(), runs}, err
}

// endedSince reports whether a run has begun and ended since the page was made: it may never have been shown.
func (v *visit) endedSince() bool {
	since, err := time.Parse(time.RFC3339Nano, v.FormValue("since"))
	if err != nil || fault.Off(fault.Ended) {
		return false
	}
	reply, err := v.site.Runs(v.Context(), reverie.RunQuery{GroupID: v.FormValue("group"), Since: since, Limit: api.MaxPage})
	return err != nil || slices.ContainsFunc(reply.Runs, func(r reverie.RunEntry) bool { return r.Status != reverie.RunRunning })
}

// watchers counts the streams of each login.
type watchers struct {
	mu    sync.Mutex
	byKey map[string]int
}

// enter admits one more stream, until leave is called; nil if the login has too many.
func (w *watchers) enter(key string) (leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byKey[key] == watchersAtOne {
		return nil
	}
	w.byKey[key]++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.byKey[key]--; w.byKey[key] == 0 {
			delete(w.byKey, key)
		}
	}
}

// live tells a page of what is under way, as server-sent events: at once, and whenever
// that changes, until the request ends. That is soon: the browser asks again, and whoever
// is no longer logged in is told nothing more. What went by between two streams is told as "ended".
func (s *site) live(w http.ResponseWriter, r *http.Request) {
	v := s.visit(w, r)
	err := v.check()
	if err == nil {
		err = v.aboutFiltered(v.FormValue("group"), "")
	}
	var d liveView
	if err == nil {
		d, err = v.Live(v.FormValue("group"))
	}
	if err != nil {
		s.fail(v, err)
		return
	}
	leave := s.watchers.enter(v.Caller.TokenID)
	if leave == nil {
		s.explain(v, problem.New(http.StatusTooManyRequests, fmt.Sprintf("%d pages of this login are watched already: close one", watchersAtOne)), "later")
		return
	}
	defer leave()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // makes a proxy pass events on at once
	ticks := time.NewTicker(cmp.Or(s.LookEvery, lookEvery))
	defer ticks.Stop()
	sent := fmt.Sprintf("retry: %d\n", retryAfter)
	if v.endedSince() {
		sent += "event: ended\ndata:\n\n"
	}
	for idle, last := 0, ""; err == nil; d, err = v.Live(v.FormValue("group")) {
		var b bytes.Buffer
		if err := s.looks[errorTemplate]()[v.lang].ExecuteTemplate(&b, "under_way", d); err != nil {
			s.Log.Error("what is under way cannot be shown", "request_id", problem.RequestID(v.Context()), "error", err)
			return
		}
		idle++
		if shown := b.String(); shown != last || sent != "" {
			sent += "data: " + strings.ReplaceAll(strings.TrimSpace(shown), "\n", "\ndata: ") + "\n\n"
			last = shown
		} else if idle == beatEvery {
			sent = ":\n\n"
		}
		if sent != "" {
			if _, err := w.Write([]byte(sent)); err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			idle, sent = 0, ""
		}
		select {
		case <-v.Context().Done():
			return
		case <-ticks.C:
		}
	}
}
