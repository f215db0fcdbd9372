//go:build torture

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"reverie/cmd/reverie/command"
	"reverie/internal/fault"
	"reverie/internal/reverie"
)

// chatOfStream are the lines of a live chat: each third message is edited twice, each third deleted, of which one
// is told of before it comes in.
func chatOfStream() (lines []string) {
	for i := range 30 {
		line := fmt.Sprintf(`{"id":"%d","author":"Lin","author_id":"lin","text":"note Lin counts to %d","sent_at":"2025-03-03T12:%02d:00Z","session_id":"s"}`, i, i, i)
		edit := func(text, at string) string {
			return fmt.Sprintf(`{"id":"%d","text":"note %s %d","edited_at":"2025-03-03T%s:00Z"}`, i, text, i, at)
		}
		deletion := fmt.Sprintf(`{"id":"%d","deleted_at":"2025-03-03T13:00:00Z"}`, i)
		switch i % 6 {
		case 0, 3:
			lines = append(lines, line, edit("as it was edited first", "13:00"), edit("as it was edited last", "14:00"))
		case 1:
			lines = append(lines, deletion, line)
		case 4:
			lines = append(lines, line, deletion)
		default:
			lines = append(lines, line)
		}
	}
	return lines
}

// liveChat is a server of a chat whose stream breaks off in the middle of a line and is sent again, whole; then one of its
// messages comes once more, with the first of its edits, and others are edited and deleted by themselves.
var liveChat = &play{name: "live chat", past: func(s *stage) {
	s.bring("live", chat("2025-03-02", "note Mia was here before", "hello")...)
	s.run("evolve", "--group", "live").want(s.t, 0)
}, args: invocation("serve", "--listen", "127.0.0.1:0"), clients: func(s *stage, base string) error {
	lines := chatOfStream()
	whole := strings.Join(lines, "\n")
	post := func(body io.Reader) error {
		_, err := ask[reverie.MessagesAdded](s.t.Context(), http.MethodPost, base+"/v1/groups/live/messages", body)
		return err
	}
	_ = post(io.MultiReader(strings.NewReader(whole[:len(whole)/2]), cut{})) // it is told so, or finds the server gone
	for _, body := range []string{whole, strings.Join(lines[len(lines)-6:len(lines)-4], "\n")} {
		if err := post(strings.NewReader(body)); err != nil {
			return err
		}
	}
	for _, c := range []struct{ method, path, body string }{
		{http.MethodPatch, "messages/2", `{"text":"note Lin counts to two","edited_at":"2025-03-03T15:00:00Z"}`},
		{http.MethodDelete, "messages/5", ""},
		{http.MethodPatch, "messages/2025-03-02-1", `{"text":"note Mia was there","edited_at":"2025-03-03T15:00:00Z"}`},
	} {
		_, err := ask[reverie.MessageChanged](s.t.Context(), c.method, base+"/v1/groups/live/"+c.path, strings.NewReader(c.body))
		if err != nil && !strings.Contains(err.Error(), fmt.Sprint(http.StatusNotFound)) { // it was deleted before
			return err
		}
	}
	return nil
}, ends: func(s *stage) []string {
	return slices.Concat(s.stands("live"), s.rows(`select statement, status from memories order by 1`),
		s.rows(`select distinct 'an older text has replaced a newer one' from messages where text like '%edited first%'`))
}, done: command.ExitError,
	control: control{fault.Newer, "note changes of messages of group: committed", "keeping the newer text of a message", "an older text has replaced a newer one"}}

// cut is a body that breaks off.
type cut struct{}

func (cut) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }
