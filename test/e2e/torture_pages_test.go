//go:build torture

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"reverie/internal/fault"
)

// pagesWatched opens as many streams of a page as a login may, cuts their connections in each way, kills the server under
// them, and opens as many again. Each tells of its own group, and none takes another's place.
var pagesWatched = &ordeal{name: "pages that are watched", run: func(t *testing.T, o *ordeal) {
	ways := []fate{isReset, serverGone, clientGone, unanswered, drips}
	if testing.Short() {
		ways = ways[:1]
	}
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline", "REVERIE_HTTP_REQUESTS_PER_SECOND=0")
	tokens := map[string]string{}
	for _, g := range []string{"own", "others"} {
		s.bring(g, chat("2025-03-03", "note "+g+" meets on Mondays")...)
		tokens[g], _ = s.run("token", "create", "--group", g, "--scope", "read", "--json").want(t, 0).document(t)["token"].(string)
		s.exec(`insert into runs (group_id, run_id, job, window_since, window_until, status, attempt, started_at)
			values ($1, gen_random_uuid(), 'evolve', now(), now(), 'running', 1, now())`, g) // is under way all the time
	}
	for _, way := range append(ways, passes) {
		t.Run(way.String(), func(t *testing.T) {
			p := s.server("")
			for _, what := range s.lent(t).cutStreams(p, o, way, tokens["own"], patience) {
				t.Error(what)
			}
			p.signal(syscall.SIGTERM)
			p.end().want(t, 0)
			o.trial(t, s)
		})
	}
	o.control(t, "making room when a stream ends", "no place is free", s.cutStreams(s.server(fault.Watch), o, isReset, tokens["own"], 3*time.Second)...)
}}

// server starts one that lacks a guard, or none.
func (s *stage) server(off string) *process {
	s.t.Helper()
	p := startBinary(s.t, toBreak(s.t), append(slices.Clone(s.env), "REVERIE_LOG_FORMAT=json", "REVERIE_FAULT_OFF="+off), "serve", "--listen", "127.0.0.1:0")
	if !p.serves() {
		s.t.Fatal(p.err.String())
	}
	return p
}

const streamsOfLogin = 8

// cutStreams has a login's streams cut in a way, twice; what was under way is told to each beforehand. It returns what is wrong.
func (s *stage) cutStreams(p *process, o *ordeal, way fate, token string, patient time.Duration) (wrong []string) {
	t := s.t
	t.Helper()
	u, err := url.Parse(servesAt.FindStringSubmatch(p.err.String())[1])
	if err != nil {
		t.Fatal(err)
	}
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	defer client.CloseIdleConnections()
	login, err := client.PostForm(u.String()+"/ui/login", url.Values{"token": {token}})
	if err != nil {
		t.Fatal(err)
	}
	login.Body.Close()
	cookies := jar.Cookies(&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/ui/"})
	for range 2 {
		s.exec(`update runs set started_at = now()`)
		var cutting bool
		c := newCable(t, func(packet) fate {
			if cutting {
				o.strikes(1)
				return way
			}
			return passes
		})
		c.away = true
		c.open("tcp", u.Host)
		ctx, cancel := context.WithCancel(t.Context())
		open := func() (first string, status int) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.listener.Addr().String()+"/ui/live?lang=en", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Host = u.Host
			for _, cookie := range cookies {
				req.AddCookie(cookie)
			}
			a, err := client.Do(req)
			if err != nil {
				return err.Error(), 0
			}
			t.Cleanup(func() { _ = a.Body.Close() })
			if a.StatusCode != http.StatusOK {
				return "", a.StatusCode
			}
			for r := bufio.NewReader(a.Body); ; {
				line, err := r.ReadString('\n')
				if first += line; err != nil || line == "\n" {
					if !strings.Contains(first, "/ui/groups/own") {
						_ = a.Body.Close() // it is asked again
					}
					return first, a.StatusCode
				}
			}
		}
		for n := range streamsOfLogin {
			first, status := open()
			for end := time.Now().Add(patient); (status != http.StatusOK || !strings.Contains(first, "own")) && time.Now().Before(end); { // until the server has noticed
				time.Sleep(100 * time.Millisecond)
				first, status = open()
			}
			switch {
			case status == http.StatusTooManyRequests:
				wrong = append(wrong, fmt.Sprintf("stream %d: no place is free", n+1))
			case status != http.StatusOK || !strings.Contains(first, "/ui/groups/own") || strings.Contains(first, "/ui/groups/others"):
				wrong = append(wrong, fmt.Sprintf("stream %d: status %d, told %q", n+1, status, first))
			}
			if len(wrong) > 0 {
				break
			}
		}
		if len(wrong) > 0 {
			cancel()
			return wrong
		}
		c.mu.Lock()
		cutting = way != passes
		c.mu.Unlock()
		if way == passes { // who watches goes by themselves
			o.strikes(1)
		} else { // the news meets with it
			from := o.hits()
			s.exec(`update runs set status = 'succeeded', finished_at = started_at where group_id = 'own'`)
			until(t, "news", func() bool { return o.hits() > from })
			s.exec(`update runs set status = 'running', finished_at = null where group_id = 'own'`)
		}
		cancel()
		c.cut()
	}
	return nil
}
