package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/cmd/reverie/command"
	"reverie/internal/llm/llmtest"
	"reverie/internal/reverie"
	"reverie/store"
)

// servedGroup has everything in its id that a path must escape.
const servedGroup = "组 a/b%2F?c#d&e=ü"

var servesAt = regexp.MustCompile(`"url":"(http://[^"]*)/ui/"`)

// serve starts a process that serves clients, and waits until it says where.
func (s *stage) serve(env []string, args ...string) (p *process, base string) {
	s.t.Helper()
	p = s.fork(append([]string{newYear, "REVERIE_LOG_FORMAT=json"}, env...)...).launch(append(args, "--listen", "127.0.0.1:0")...)
	p.says(`"msg":"serving"`, 1)
	return p, servesAt.FindStringSubmatch(p.err.String())[1]
}

// statusError is an answer of a server that is no success.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("the API answers %d", int(e)) }

// ask sends a request to a server's API, once, and reads the answer.
func ask[T any](ctx context.Context, method, address string, body io.Reader) (reply T, err error) {
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return reply, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= 300 {
		return reply, statusError(resp.StatusCode)
	}
	return reply, json.NewDecoder(resp.Body).Decode(&reply)
}

// apiClient asks a server's API.
type apiClient struct {
	t    *testing.T
	base string
}

func (a apiClient) add(groupID string, lines ...chatLine) (reverie.MessagesAdded, error) {
	return ask[reverie.MessagesAdded](a.t.Context(), http.MethodPost, a.base+"/v1/groups/"+url.PathEscape(groupID)+"/messages",
		strings.NewReader(jsonLines(a.t, lines)))
}

func (a apiClient) evolve(groupID string, days int) (reverie.EvolveReply, error) {
	return ask[reverie.EvolveReply](a.t.Context(), http.MethodPost, fmt.Sprintf("%s/memory/evolve/%s?days=%d", a.base, url.PathEscape(groupID), days), nil)
}

func (a apiClient) list(groupID string) (reverie.ListReply, error) {
	return ask[reverie.ListReply](a.t.Context(), http.MethodGet, a.base+"/memory/list/"+url.PathEscape(groupID)+"?status=all", nil)
}

// search asks for the memories of a group nearest to a text.
func search(ctx context.Context, base, groupID, text string, more url.Values) (reverie.SearchReply, error) {
	query := url.Values{"q": {text}}
	maps.Copy(query, more)
	return ask[reverie.SearchReply](ctx, http.MethodGet, base+"/memory/search/"+url.PathEscape(groupID)+"?"+query.Encode(), nil)
}

// TestServe: messages come in, are evolved and are found, in a group that is made by
// them, while nobody has a token; with one, nobody else is answered any more.
func TestServe(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	p, base := s.serve(nil, "serve")
	c := apiClient{t, base}
	added, err := c.add(servedGroup, chat(night(3), "note Lin drinks tea", "hello")...)
	if err != nil || !added.Success || added.New != 2 {
		t.Fatalf("%+v, %v", added, err)
	}
	reply, err := c.evolve(servedGroup, 0)
	if err != nil || reply.Stats.Created != 1 || reply.Messages.Cited+reply.Messages.Considered != 2 || len(reply.Changes) != 1 {
		t.Fatalf("%+v, %v", reply, err)
	}
	again, err := c.evolve(servedGroup, 3)
	if want := (reverie.EvolveReply{RunSummary: reverie.RunSummary{Success: true, GroupID: servedGroup, Message: "no new messages"}, Changes: []reverie.ChangeReply{}}); err != nil || !cmp.Equal(want, again) {
		t.Errorf("with nothing new: %s, %v", cmp.Diff(want, again), err)
	}
	found, err := search(t.Context(), base, servedGroup, "Lin drinks tea", nil)
	if err != nil || len(found.Results) != 1 || found.Results[0].Statement != "Lin drinks tea" {
		t.Errorf("%+v, %v", found, err)
	}
	told, err := ask[reverie.ContextReply](t.Context(), http.MethodPost, base+"/v1/groups/"+url.PathEscape(servedGroup)+"/context",
		strings.NewReader(`{"query": "What does Lin drink?"}`))
	if err != nil || told.UsageID == "" {
		t.Fatalf("%+v, %v", told, err)
	}
	judged, err := ask[reverie.FeedbackReply](t.Context(), http.MethodPost, base+"/v1/groups/"+url.PathEscape(servedGroup)+"/feedback",
		strings.NewReader(`{"usage_id": "`+told.UsageID+`", "response": "Lin drinks tea."}`))
	if err != nil || judged.Referenced != 1 { // what was just offered is known
		t.Errorf("%+v, %v", judged, err)
	}
	s.model.Respond(func(llmtest.Request) llmtest.Answer { return llmtest.Prose() })
	if _, err := c.add(servedGroup, chat(night(4), "again")...); err != nil {
		t.Fatal(err)
	}
	if _, err = c.evolve(servedGroup, 0); !errors.Is(err, statusError(http.StatusBadGateway)) {
		t.Errorf("an answer of no use is %v", err)
	}
	if got := s.rows(`select group_id, failures from setbacks`); !cmp.Equal(got, []string{servedGroup + "|1"}) {
		t.Errorf("setbacks are %v", got)
	}
	if code, _ := get(t, base+"/ui/"); code != http.StatusOK {
		t.Errorf("the page answers %d", code)
	}
	if code, body := get(t, base+"/metrics"); code != http.StatusOK || !strings.Contains(body, `reverie_runs_total{job="evolve",outcome="succeeded"} 1`) {
		t.Errorf("/metrics answers %d: %s", code, body)
	}
	if code, body := get(t, base+"/debug/pprof/"); code != http.StatusNotFound || strings.Contains(body, "goroutine") {
		t.Errorf("the profiler answers %d", code)
	}
	s.run("token", "create", "--group", servedGroup).want(t, 0)
	if _, err := c.list(servedGroup); !errors.Is(err, statusError(http.StatusUnauthorized)) {
		t.Errorf("nobody is answered %v", err)
	}
	p.stop()
}

// statusOf is a request whose answer is looked at for its status alone.
func statusOf(t *testing.T, url string) int {
	t.Helper()
	resp, err := http.Post(url, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// TestServeStops: who waits too long is told of a run that goes on; it may finish when
// the server is told to stop, and is cut at a second signal. Another process is told that
// the group is busy.
func TestServeStops(t *testing.T) {
	t.Parallel()
	for _, signals := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d signals", signals), func(t *testing.T) {
			t.Parallel()
			s := dueStage(t)
			s.bring("g1", chat(night(3), "note Lin drinks tea")...)
			asked, gate := make(chan struct{}, 10), make(chan struct{})
			s.model.Respond(func(r llmtest.Request) llmtest.Answer {
				asked <- struct{}{}
				return llmtest.Text(transcribe(t, r)).After(gate)
			})
			p, base := s.serve([]string{"REVERIE_HTTP_EVOLVE_WAIT=0s", "REVERIE_JOBS_GRACE=1h"}, "serve")
			for range 2 { // the second joins the first
				if code := statusOf(t, base+"/memory/evolve/g1"); code != http.StatusAccepted {
					t.Errorf("evolve answers %d", code)
				}
			}
			await(t, "the question", asked)
			resp, err := http.Post(base+"/memory/evolve/g1", "", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if code, run := get(t, base+resp.Header.Get("Location")); code != http.StatusOK || !strings.Contains(run, `"status":"running"`) {
				t.Errorf("the run at %q is %d %s", resp.Header.Get("Location"), code, run)
			}
			s.run("evolve", "--group", "g1").want(t, command.ExitBusy)
			for range signals {
				p.signal(sigterm)
				p.says(`"msg":"stopping`, 1)
			}
			status, pending := "deferred", "1"
			if signals == 1 {
				until(t, "nobody is let in", func() bool {
					resp, err := http.Get(base + "/readyz")
					if err == nil {
						resp.Body.Close()
					}
					return err != nil
				})
				close(gate)
				status, pending = "succeeded", "0"
			}
			p.end().want(t, 0, "stopped")
			if got := s.rows(`select status from runs`); !cmp.Equal(got, []string{status}) {
				t.Errorf("runs are %v, want %s", got, status)
			}
			if got := s.pending("g1"); got != pending || len(asked) != 0 {
				t.Errorf("%s messages are pending, want %s; the model was asked %d times more", got, pending, len(asked))
			}
			if got := s.one(`select count(*) from leases where expires_at > clock_timestamp()`); got != "0" {
				t.Errorf("%s leases are left", got)
			}
		})
	}
}

// TestServeWithoutModel: it needs none, and says what it cannot do; what it cannot listen
// on it refuses.
func TestServeWithoutModel(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.bring("g1", chat(night(3), "note Lin drinks tea")...)
	p, base := s.serve([]string{"REVERIE_LLM_BASE_URL="}, "serve")
	p.says("groups are not evolved over HTTP", 1)
	if code := statusOf(t, base+"/memory/evolve/g1"); code != http.StatusConflict {
		t.Errorf("evolve answers %d", code)
	}
	if code, _ := get(t, base+"/memory/search/g1?q=tea"); code != http.StatusOK {
		t.Errorf("a search answers %d", code)
	}
	if list, err := (apiClient{t, base}).list("g1"); err != nil || list.Total != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"serve", "--listen", u.Host}, []string{"another process has it", "choose another port"}},
		{[]string{"serve", "--listen", ""}, []string{"[http] listen is empty"}},
		{[]string{"run", "--listen", ""}, []string{"[http] listen is empty"}},
		{[]string{"run", "--listen", u.Host}, []string{"another process has it"}},
	} {
		s.fork(newYear).run(c.args...).want(t, 2, c.says...)
	}
	p.stop()
}

// TestRunListens: the daemon's jobs and clients share one port, and take turns on a group.
func TestRunListens(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.nightsOf("g1", 3, 3)
	p, base := s.serve(nil, "run")
	p.says(`"msg":"run ended"`, 1)
	c := apiClient{t, base}
	if list, err := c.list("g1"); err != nil || list.Total != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := c.add("g1", chatLine{ID: "new", Author: "Mia", Text: "note Mia drinks coffee", SentAt: "2026-01-09T12:00:00Z"}); err != nil {
		t.Fatal(err)
	}
	if reply, err := c.evolve("g1", 0); err != nil || reply.Stats.Created != 1 {
		t.Errorf("%+v, %v", reply, err)
	}
	if code, _ := get(t, base+"/readyz"); code != http.StatusOK {
		t.Errorf("/readyz answers %d", code)
	}
	p.stop()
}

// TestNewerSchema: while a newer binary has migrated, this one goes on where the migration says
// that it may: it stays ready, and starts. Else it says what to do.
func TestNewerSchema(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.exec(`alter table goose_db_version add column if not exists compatible_with bigint`)
	p, base := s.serve(nil, "serve")
	later := store.WantedVersion() + 1
	for _, c := range []struct {
		oldest int64 // whose binaries work with the next version
		status int
		exit   int
	}{{later - 1, http.StatusOK, 0}, {later - 2, http.StatusOK, 0}, {later, http.StatusServiceUnavailable, 2}} {
		s.exec(`delete from goose_db_version where version_id = $1`, later)
		s.exec(`insert into goose_db_version (version_id, is_applied, compatible_with) values ($1, true, $2)`, later, c.oldest)
		if code, body := get(t, base+"/readyz"); code != c.status || c.exit != 0 && !strings.Contains(body, "update reverie") {
			t.Errorf("compatible with %d: /readyz answers %d %s", c.oldest, code, body)
		}
		if code, _ := get(t, base+"/healthz"); code != http.StatusOK {
			t.Errorf("compatible with %d: /healthz answers %d", c.oldest, code)
		}
		for _, args := range [][]string{{"groups", "list"}, {"migrate", "up"}} {
			s.run(args...).want(t, c.exit)
		}
	}
	p.stop()
}
