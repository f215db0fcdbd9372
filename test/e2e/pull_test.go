package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pullServer hands over two chats, of which the second may fail.
type pullServer struct {
	*httptest.Server
	mu    sync.Mutex
	sent  []int // when each message of the first was sent
	fails int   // with this status, the second
	asked []string
}

func newPullServer(t *testing.T) *pullServer {
	t.Helper()
	s := &pullServer{sent: []int{1769990000, 1769990005, 1769990100}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *pullServer) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.URL.Path+"?since="+r.URL.Query().Get("since"))
	if r.Header.Get("Authorization") != "Bearer clb_secret" {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	since, _ := strconv.Atoi(r.URL.Query().Get("since"))
	switch r.URL.Path {
	case "/api/sessions":
		fmt.Fprint(w, `{"sessions":[{"id":"1@chatroom","name":"Plot","platform":"wechat","type":"group","messageCount":3},{"id":"2","name":"Bo"}]}`)
	case "/api/sessions/1@chatroom/messages":
		var list []string
		for i, at := range s.sent {
			if at >= since {
				list = append(list, fmt.Sprintf(`{"platformMessageId":"m%d","sender":"7","accountName":"Mara","timestamp":%d,"type":0,"content":"/text %d"}`, i, at, i))
			}
		}
		fmt.Fprintf(w, `{"messages":[%s],"sync":{"hasMore":false}}`, strings.Join(list, ","))
	default:
		if s.fails > 0 {
			http.Error(w, "out of order", s.fails)
			return
		}
		fmt.Fprint(w, `{"messages":[{"sender":"8","accountName":"Bo","timestamp":1769990000,"type":0,"content":"hello"},{"sender":"8","timestamp":1769990001,"type":1,"content":"[图片]"}]}`)
	}
}

// take returns what was asked for, and forgets it.
func (s *pullServer) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := strings.Join(s.asked, " ")
	s.asked = nil
	return asked
}

func TestPull(t *testing.T) {
	t.Parallel()
	s, server := newStage(t), newPullServer(t)
	url := server.URL + "/api/"
	s.run("pull", url).want(t, 2, "401", "REVERIE_PULL_TOKEN")
	s.set("REVERIE_PULL_TOKEN=clb_secret", "REVERIE_INGEST_COMMANDS=!")
	if o := s.run("pull", url, "--dry-run").want(t, 0).silent(t); !strings.Contains(o.stdout, "chatlab-1@chatroom") || !strings.Contains(o.stdout, "5 records, 1 filtered") {
		t.Errorf("stdout is %q", o.stdout)
	}
	sent := server.sent
	server.sent = nil // it prepares them
	s.run("pull", url, "--chat", "Plot").want(t, 0, "sent none", "pull again later", "1@chatroom")
	server.sent = sent
	if rows := s.rows(`select group_id from groups`); len(rows) > 0 {
		t.Errorf("a dry run, or a pull of nothing, made %v", rows)
	}
	server.take()

	server.fails = http.StatusBadRequest
	s.run("pull", url, "--chat", "Bo").want(t, 1, "HTTP 400", "out of order")
	doc := s.run("pull", url, "--json").want(t, 3, "1 of 2 chats failed").document(t)
	if failed := doc["failed"].([]any); doc["success"] != false || doc["new"] != 3.0 || len(failed) != 1 || failed[0].(object)["chat_id"] != "2" {
		t.Errorf("%v", doc)
	}
	if ahead := doc["ahead"].(object); ahead["windows"] != 1.0 || ahead["command"] != "reverie evolve chatlab-1@chatroom" {
		t.Errorf("what is next is %v", ahead)
	}
	server.fails = 0
	server.take()
	s.run("pull", url, "--json").want(t, 0).silent(t)
	if got, want := server.take(), "/api/sessions?since= /api/sessions/1@chatroom/messages?since=1769990040 /api/sessions/2/messages?since=0"; got != want {
		t.Errorf("asked %s\nwant  %s", got, want)
	}
	want := []string{"chatlab-1@chatroom|Plot|/text 0|", "chatlab-1@chatroom|Plot|/text 1|", "chatlab-1@chatroom|Plot|/text 2|", "chatlab-2|Bo|hello|", "chatlab-2|Bo||empty"}
	messages := `select g.group_id, g.name, m.text, m.filter from messages m join groups g using (group_id) order by g.group_id, m.sent_at`
	if diff := cmp.Diff(want, s.rows(messages)); diff != "" {
		t.Error(diff)
	}
	pulls := `select group_id, source, chat_id, extract(epoch from since)::bigint, messages, error from pulls order by group_id`
	source := server.URL + "/api"
	if diff := cmp.Diff([]string{"chatlab-1@chatroom|" + source + "|1@chatroom|1769990100|3|", "chatlab-2|" + source + "|2|1769990001|2|"}, s.rows(pulls)); diff != "" {
		t.Error(diff)
	}

	server.sent = append(server.sent, 1769990050, 1769990200) // late, and new
	if o := s.run("pull", url, "--chat", "Plot").want(t, 0).silent(t); !strings.Contains(o.stdout, "3 records, 2 new, 1 known already") {
		t.Errorf("stdout is %q", o.stdout)
	}
	server.sent = append(server.sent, 1769990300, 1769991000) // what --since leaves out comes with the next pull
	for i, more := range [][]string{{"--since", "2026-02-02T00:08:00Z"}, nil} {
		if o := s.run(append([]string{"pull", url, "--chat", "Plot"}, more...)...).want(t, 0).silent(t); !strings.Contains(o.stdout, ", 1 new,") {
			t.Errorf("stdout is %q", o.stdout)
		}
		if rows := s.rows(pulls); !strings.Contains(rows[0], []string{"|1769990200|6|", "|1769991000|7|"}[i]) {
			t.Errorf("pulls are %v", rows)
		}
	}
	server.fails = http.StatusBadRequest // what has come stays, and what went wrong is noted
	s.run("pull", url, "--chat", "2").want(t, 1)
	if rows := s.rows(pulls); !strings.Contains(rows[1], "1769990001|2|ask for messages") {
		t.Errorf("pulls are %v", rows)
	}
}

func TestPullIntoAGroup(t *testing.T) {
	t.Parallel()
	s, server := newStage(t), newPullServer(t)
	url, token := server.URL+"/api", filepath.Join(t.TempDir(), "token")
	write(t, token, "clb_secret\n")
	s.run("pull", url, "--token-file", token, "--group", "g").want(t, 2, "several chats", "--chat")
	s.run("pull", url, "--token-file", token, "--chat", "nobody").want(t, 2, "nobody")
	s.run("pull", url, "--token-file", token, "--chat", "Plot", "--group", "g", "--since", "soon").want(t, 2, "soon")
	s.run("pull", url, "--all", "--since", "1d").want(t, 2, "--all")
	s.run("pull", "not a url").want(t, 2, "not a URL")
	s.run("pull", url, "--token-file", token+"s").want(t, 2, "token-file")
	if o := s.run("pull", url, "--token-file", "-"+token+"s", "--chat", "Plot", "--group", "g"); !strings.Contains(o.stderr, "401 Unauthorized") {
		t.Errorf("a file that may be missing: the server is asked without a token: %s", o.stderr)
	}
	server.take()
	if o := s.run("pull", url, "--token-file", token, "--chat", "Plot", "--group", "g", "--time-zone", "Asia/Shanghai", "--since", "2026-02-01T23:55:00Z").want(t, 0).silent(t); o.stdout != "g: 1 record, 1 new, 0 known already, 1 filtered, 0 bad, 2026-02-01 to 2026-02-01\nfiltered: 1 command\n" {
		t.Errorf("stdout is %q", o.stdout)
	}
	if diff := cmp.Diff([]string{"g|Asia/Shanghai|/text 2"}, s.rows(`select g.group_id, time_zone, text from messages m join groups g using (group_id)`)); diff != "" {
		t.Error(diff)
	}
	s.run("pull", url, "--token-file", token, "--chat", "Plot", "--group", "g", "--all").want(t, 0)
	want := "/api/sessions?since= /api/sessions/1@chatroom/messages?since=1769990040 /api/sessions?since= /api/sessions/1@chatroom/messages?since=0"
	if got := server.take(); got != want {
		t.Errorf("asked %s\nwant  %s", got, want)
	}
	if n := s.rows(`select count(*) from messages`)[0]; n != "3" {
		t.Errorf("%s messages", n)
	}
}
