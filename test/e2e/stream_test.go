package e2e

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
	"reverie/internal/reverie"
)

// stands is what a group has of a chat that nobody has read.
func (s *stage) stands(group string) []string {
	s.t.Helper()
	return slices.Concat(
		s.rows(`select message_id, author_id, text, sent_at, session_id, edited_at, reactions, tokens from messages where group_id = $1 order by 1`, group),
		s.rows(`select session_id, messages, tokens, new_messages, new_tokens from sessions where group_id = $1 order by 1`, group),
		s.rows(`select message_id from message_changes where group_id = $1`, group))
}

// until waits for a row.
func (s *stage) until(query string, args ...any) {
	s.t.Helper()
	for len(s.rows(query, args...)) == 0 {
		if s.t.Context().Err() != nil || s.t.Failed() {
			s.t.Fatalf("it does not come to %s", query)
		}
	}
}

// TestStreamKilled: a server is killed in the middle of a stream, as often as it takes. Sent
// again from its beginning, the chat is as if it had come at once.
func TestStreamKilled(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	var events, final strings.Builder
	for i := range 60 {
		line := fmt.Sprintf(`{"id":"%d","author":"Lin","text":"%%s","sent_at":"2025-03-03T12:%02d:00Z","session_id":"s"%%s}`+"\n", i, i)
		fmt.Fprintf(&events, line, "first", "")
		switch i % 3 {
		case 0:
			fmt.Fprintf(&events, `{"id":"%d","text":"second","edited_at":"2025-03-03T13:00:00Z"}`+"\n", i)
			fmt.Fprintf(&final, line, "second", `,"edited_at":"2025-03-03T13:00:00Z"`)
		case 1:
			fmt.Fprintf(&events, `{"id":"%d","deleted_at":"2025-03-03T13:00:00Z"}`+"\n", i)
		default:
			fmt.Fprintf(&final, line, "first", "")
		}
	}
	post := func(base, group string, body io.Reader) (reverie.MessagesAdded, error) {
		return ask[reverie.MessagesAdded](t.Context(), http.MethodPost, base+"/v1/groups/"+group+"/messages", body)
	}
	for _, stop := range []int{10, 45} {
		p, base := s.serve(nil, "serve")
		body, client := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			_, err := post(base, "live", body)
			ended <- err
		}()
		for line := range strings.Lines(events.String()) {
			if _, err := io.WriteString(client, line); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(line, fmt.Sprintf(`{"id":"%d",`, stop)) {
				break
			}
		}
		s.until(`select 1 from messages where group_id = 'live' and message_id = $1`, fmt.Sprint(stop-stop%3)) // and the body goes on
		p.kill()
		s.forgotten(p)
		_ = client.CloseWithError(io.ErrClosedPipe)
		if err := await(t, "the end of the stream", ended); err == nil {
			t.Error("a killed server has answered")
		}
		s.exec(`update leases set expires_at = statement_timestamp()`) // it may have died with the group's
	}
	p, base := s.serve(nil, "serve")
	for range 2 {
		if got, err := post(base, "live", strings.NewReader(events.String())); err != nil || !got.Success || got.Waiting != 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		if _, err := post(base, "once", strings.NewReader(final.String())); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s.stands("once"), s.stands("live")); diff != "" {
			t.Errorf("(-at once +live):\n%s", diff)
		}
	}
	p.stop().want(t, 0)
}

// TestEditUnderRun: what becomes of messages while a run works waits, and is done when that has
// ended. The next run reads the newer text; what rested on the older one ends, and of what was
// deleted nothing is left.
func TestEditUnderRun(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	p, base := s.serve(nil, "serve")
	c := apiClient{t, base}
	if _, err := c.add("g1", chat(night(3), "note Lin drinks tea", "note Mia plays chess", "note Bo sleeps late")...); err != nil {
		t.Fatal(err)
	}
	asked, gate := make(chan struct{}), make(chan struct{})
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		close(asked)
		return llmtest.Text(transcribe(t, r)).After(gate)
	})
	run := s.launch("evolve", "--group", "g1", "--json")
	await(t, "the question", asked)
	change := func(method, path, body string) (reverie.MessageChanged, error) {
		return ask[reverie.MessageChanged](t.Context(), method, base+"/v1/groups/g1/"+path, strings.NewReader(body))
	}
	edited, err := change(http.MethodPatch, "messages/"+night(3)+"-1", `{"text":"note Lin drinks coffee"}`)
	if err != nil || edited.Edited != 1 || edited.Waiting != 1 {
		t.Errorf("%+v, %v", edited, err)
	}
	if deleted, err := change(http.MethodDelete, "messages/"+night(3)+"-2", ""); err != nil || deleted.Deleted != 1 || deleted.Waiting != 1 {
		t.Errorf("%+v, %v", deleted, err)
	}
	if _, err := change(http.MethodPost, "authors/mia/forget", ""); !errors.Is(err, statusError(http.StatusConflict)) {
		t.Errorf("forgetting under a run: %v", err)
	}
	close(gate)
	run.end().want(t, 0)
	if got := s.rows(`select message_id, text, run_id is null from messages order by 1`); !cmp.Equal(got, []string{night(3) + "-1|note Lin drinks coffee|true", night(3) + "-3|note Bo sleeps late|false"}) {
		t.Errorf("messages are %v", got)
	}
	if got := s.rows(`select statement, status from memories order by 1`); !cmp.Equal(got, []string{"Bo sleeps late|active", "Lin drinks tea|held"}) {
		t.Errorf("memories are %v", got)
	}
	if dump := s.dump(); strings.Contains(fmt.Sprint(dump), "chess") {
		t.Error("of the deleted message something is left")
	}
	s.model.Respond(scribe(t))
	if _, err := c.evolve("g1", 0); err != nil {
		t.Fatal(err)
	}
	if got := s.rows(`select statement from memories where status = 'active' order by 1`); !cmp.Equal(got, []string{"Bo sleeps late", "Lin drinks coffee"}) {
		t.Errorf("then memories are %v", got)
	}
	known, err := ask[reverie.AuthorMemoriesReply](t.Context(), http.MethodGet, base+"/v1/groups/g1/authors/lin/memories", nil)
	if err != nil || known.Total != 2 || known.Messages != 2 || !slices.Equal(known.Names, []string{"Lin"}) {
		t.Errorf("what is remembered of Lin: %+v, %v", known, err)
	}
	if _, err := c.add("g2", chat(night(3), "note Lin drinks coffee elsewhere")...); err != nil {
		t.Fatal(err)
	}
	elsewhere := s.stands("g2")
	for n, messages := range []int{2, 0} {
		var got reverie.ForgetReply
		until(t, "that the run before has given the group back", func() bool {
			got, err = ask[reverie.ForgetReply](t.Context(), http.MethodPost, base+"/v1/groups/g1/authors/lin/forget", nil)
			return !errors.Is(err, statusError(http.StatusConflict))
		})
		if err != nil || !got.Success || got.Messages != messages || (got.ID == "") != (n == 1) {
			t.Errorf("forgotten: %+v, %v", got, err)
		}
	}
	left := strings.Join(s.rows(`select text from messages where group_id = 'g1' union all select statement from memories where group_id = 'g1'`), " ")
	if diff := cmp.Diff(elsewhere, s.stands("g2")); diff != "" || strings.Contains(left, "Lin") || strings.Contains(left, "Bo") {
		t.Errorf("left: %s; elsewhere (-before +after):\n%s", left, diff)
	}
	p.stop().want(t, 0)
}
