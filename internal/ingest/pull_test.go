package ingest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"reverie/internal/ingest"
	"reverie/internal/reverie"
)

// chatServer is a server of the pull protocol with one chat, which can misbehave.
type chatServer struct {
	*httptest.Server
	id        string
	sent      []int64 // when each message was sent, in order
	noIDs     bool
	exclusive bool // since is not asked for itself
	offsets   bool // goes on by offsets
	stuck     bool // never goes on
	plain     bool // knows no pages
	lines     bool // answers in lines
	faults    []func(http.ResponseWriter, *http.Request)

	mu    sync.Mutex
	asked []string
}

// newChatServer answers for a chat after its faults, one a request.
func newChatServer(t *testing.T, s *chatServer) *chatServer {
	t.Helper()
	if s.id == "" {
		s.id = "c1"
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *chatServer) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.RequestURI())
	var fault func(http.ResponseWriter, *http.Request)
	if len(s.faults) > 0 {
		fault, s.faults = s.faults[0], s.faults[1:]
	}
	s.mu.Unlock()
	if fault != nil {
		fault(w, r)
		return
	}
	id, _ := strings.CutPrefix(r.URL.Path, "/api/v1/sessions/")
	if id, _ = strings.CutSuffix(id, "/messages"); id != s.id {
		http.Error(w, "no such session: "+id, http.StatusNotFound)
		return
	}
	q := r.URL.Query()
	since, _ := strconv.ParseInt(q.Get("since"), 10, 64)
	limit, _ := strconv.Atoi(q.Get("limit"))
	offset, _ := strconv.Atoi(q.Get("offset"))
	if !s.offsets {
		offset = 0
	}
	var list []map[string]any
	for i, at := range s.sent {
		if at < since || s.exclusive && at == since && since > 0 {
			continue
		}
		m := map[string]any{"platformMessageId": fmt.Sprint("m", i), "sender": "7", "accountName": "Mara", "timestamp": at, "type": 0, "content": fmt.Sprint("text ", i)}
		if s.noIDs {
			delete(m, "platformMessageId")
		}
		list = append(list, m)
	}
	list = list[min(offset, len(list)):]
	sync := map[string]any{"hasMore": false, "nextSince": since}
	if n := len(list); n > limit && !s.plain {
		list = list[:limit]
		sync = map[string]any{"hasMore": true, "nextSince": list[limit-1]["timestamp"]}
		if s.offsets {
			sync["nextOffset"], sync["nextSince"], sync["watermark"] = offset+limit, since, 99999
		}
	}
	if s.stuck {
		sync = map[string]any{"hasMore": true, "nextSince": since}
	}
	if s.plain {
		sync = nil
	}
	if s.lines {
		w.Header().Set("Content-Type", "application/x-ndjson")
		for _, m := range list {
			m["_type"] = "message"
			_ = json.NewEncoder(w).Encode(m)
		}
		sync["_type"] = "sync"
		_ = json.NewEncoder(w).Encode(sync)
		return
	}
	doc := map[string]any{"messages": append([]map[string]any{}, list...)}
	if sync != nil {
		doc["sync"] = sync
	}
	_ = json.NewEncoder(w).Encode(doc)
}

// The ways to misbehave.

func status(code int, header ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		http.Error(w, "not now", code)
	}
}

// says answers with these words, and says that there would be more of them.
func says(words string, missing int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(words)+missing))
		_, _ = io.WriteString(w, words)
	}
}

// noLines answers that there is nothing.
func noLines(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/x-ndjson; charset=utf-8")
}

// hangs sends a little, and then nothing.
func hangs(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, `{"messages":[`)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// pulled is what came of a pull.
type pulled struct {
	shelf
	waits []time.Duration
	marks []int64 // told on the way, and at the end
	ingest.Result
}

var pullNow = time.Unix(50_000, 0)

func (p *pulled) server(t *testing.T, address string, opts ingest.ServerOptions) *ingest.Server {
	t.Helper()
	opts.Now = func() time.Time { return pullNow }
	opts.Wait = func(_ context.Context, d time.Duration) error {
		p.waits = append(p.waits, d)
		return nil
	}
	server, err := ingest.NewServer(address, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

func (p *pulled) pull(t *testing.T, s *chatServer, since int64, opts ingest.ServerOptions) error {
	t.Helper()
	p.keep = true
	p.marks, p.waits = nil, nil
	s.asked = nil
	im := ingest.NewImporter(&p.shelf, ingest.Options{Group: func(context.Context, string, ingest.Chat) (string, error) { return "g", nil }})
	from := time.Time{}
	if since > 0 {
		from = time.Unix(since, 0)
	}
	server := p.server(t, s.URL+"/api/v1/", opts)
	err := server.Pull(t.Context(), im, ingest.Session{Chat: ingest.Chat{ID: s.id, Name: "Plot"}, Messages: len(s.sent)}, from,
		func(_ context.Context, at time.Time) error {
			if len(p.list) < im.Result().New {
				t.Error("a mark is told before the messages are stored")
			}
			p.marks = append(p.marks, at.Unix())
			return nil
		})
	p.Result = im.Result()
	return err
}

// TestPullPages: all messages come in, once each, however a server divides them, and
// whatever it takes since for; a second pull asks for no more than the minute before.
func TestPullPages(t *testing.T) {
	same := slices.Repeat([]int64{1000}, 7)
	spread := []int64{100, 200, 200, 200, 301, 301, 302, 400, 2000, 3000}
	for name, s := range map[string]*chatServer{
		"by time":            {sent: spread},
		"since excluded":     {sent: spread, exclusive: true},
		"by offsets":         {sent: spread, offsets: true},
		"in lines":           {sent: spread, lines: true},
		"at once":            {sent: spread, plain: true},
		"within one second":  {sent: same},
		"a second, offsets":  {sent: same, offsets: true},
		"without ids":        {sent: spread, noIDs: true},
		"a second, no ids":   {sent: append(same, 1001, 1001, 1002), noIDs: true},
		"offsets, no ids":    {sent: append(same, 1001, 1001, 1002), noIDs: true, offsets: true},
		"an id to escape":    {sent: spread, id: "../a b/?#%2F@chatroom&x=1"},
		"an id of two dots":  {sent: spread, id: ".."},
		"from a wrong clock": {sent: []int64{100, 90_000}},
		"nothing":            {},
	} {
		t.Run(name, func(t *testing.T) {
			var p pulled
			server := newChatServer(t, s)
			if err := p.pull(t, server, 0, ingest.ServerOptions{PageSize: 3}); err != nil {
				t.Fatal(err)
			}
			var texts []string
			for i := range s.sent {
				texts = append(texts, fmt.Sprint("text ", i))
			}
			var got []string
			for _, m := range p.list {
				got = append(got, m.Text)
			}
			slices.SortFunc(got, func(a, b string) int { return len(a) - len(b) + strings.Compare(a, b) })
			if !slices.Equal(got, texts) {
				t.Fatalf("stored %q, want %q; asked %q", got, texts, server.asked)
			}
			end := p.marks[len(p.marks)-1]
			if n := len(s.sent); n > 0 && end != min(s.sent[n-1], pullNow.Unix()) || !slices.IsSorted(p.marks) {
				t.Errorf("marks %v", p.marks)
			}
			if len(s.sent) == 0 {
				return
			}
			server.sent = append(server.sent, end, end+1) // of a second that has come, and new
			if err := p.pull(t, server, end, ingest.ServerOptions{PageSize: 50}); err != nil || p.New != 2 {
				t.Errorf("the second pull brings %d in: %v", p.New, err)
			}
			if want := fmt.Sprintf("since=%d", end-60); len(server.asked) != 1 || !strings.Contains(server.asked[0], want) {
				t.Errorf("the second pull asks %q, not %s", server.asked, want)
			}
		})
	}
}

// TestPullFaults: what may pass is asked for again, and nothing half is stored; what will
// not pass ends the pull, and what came before stays.
func TestPullFaults(t *testing.T) {
	sent := []int64{100, 200, 300, 400, 500}
	const half = `{"messages":[{"platformMessageId":"z","sender":"7","timestamp":100,"type":0,"content":"x"},{"platf`
	fault := func(f ...func(http.ResponseWriter, *http.Request)) []func(http.ResponseWriter, *http.Request) {
		return f
	}
	for name, c := range map[string]struct {
		faults  []func(http.ResponseWriter, *http.Request)
		stored  int
		waits   int
		says    string // of the error
		is      error
		patient time.Duration
	}{
		"500 and 503":             {faults: fault(status(500), status(503)), stored: 5, waits: 2},
		"500 for ever":            {faults: slices.Repeat(fault(status(500)), 4), waits: 3, says: "HTTP 500", is: reverie.ErrDeferred},
		"429 and how long":        {faults: fault(status(429, "Retry-After", "20")), stored: 5, waits: 1},
		"429 for an hour":         {faults: fault(status(429, "Retry-After", "3600")), says: "HTTP 429", is: reverie.ErrDeferred},
		"429 until then":          {faults: fault(status(429, "Retry-After", pullNow.Add(10*time.Second).UTC().Format(http.TimeFormat))), stored: 5, waits: 1},
		"broken off":              {faults: fault(says(half, 50)), stored: 5, waits: 1},
		"broken off, well-formed": {faults: fault(says(half, 0)), stored: 5, waits: 1},
		"broken off for ever":     {faults: slices.Repeat(fault(says(half, 50)), 4), waits: 3, says: "unexpected EOF", is: reverie.ErrDeferred},
		"then nothing":            {faults: fault(hangs), stored: 5, waits: 1, patient: 500 * time.Millisecond},
		"401":                     {faults: fault(status(401)), says: "--token-file", is: reverie.ErrConfiguration},
		"404":                     {faults: fault(status(404)), says: "/sessions", is: reverie.ErrConfiguration},
		"400":                     {faults: fault(status(400)), says: "HTTP 400 Bad Request: not now"},
		"a page of another kind":  {faults: fault(says("<html>log in</html>", 0)), says: "not of ChatLab's", is: reverie.ErrConfiguration},
		"JSON of another kind":    {faults: fault(says(`{"error":"x"}`, 0)), says: "not of ChatLab's", is: reverie.ErrConfiguration},
		"an empty answer":         {faults: fault(says("", 0)), stored: 5, waits: 1},
		"no lines for ever":       {faults: slices.Repeat(fault(noLines), 5)},
		"messages behind much":    {faults: slices.Repeat(fault(says(`{"members":[{"platformId":"`+strings.Repeat("x", ingest.HeadSize)+`"}],"messages":[]}`, 0)), 4)},
		"no more, and more":       {faults: fault(says(`{"messages":[],"sync":{"hasMore":true}}`, 0)), says: "not where"},
		"on the third page":       {faults: fault(nil, nil, status(400)), stored: 3, says: "HTTP 400"},
	} {
		t.Run(name, func(t *testing.T) {
			var p pulled
			err := p.pull(t, newChatServer(t, &chatServer{sent: sent, faults: c.faults}), 0, ingest.ServerOptions{PageSize: 2, Timeout: c.patient})
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("it says %v", err)
			}
			if len(p.list) < c.stored || c.says != "" && len(p.list) > c.stored || len(p.waits) != c.waits || p.Bad != 0 {
				t.Errorf("stored %d, waited %v", len(p.list), p.waits)
			}
			for _, w := range p.waits {
				if w < 10*time.Second && strings.HasPrefix(name, "429") || w > 40*time.Second || w < time.Second {
					t.Errorf("waited %v", p.waits)
				}
			}
			if n := len(p.marks); n > 0 && c.says != "" && p.marks[n-1] > 400 {
				t.Errorf("marks %v", p.marks)
			}
		})
	}
}

// TestPullGetsOn: a server that says there is more and leads nowhere is found out.
func TestPullGetsOn(t *testing.T) {
	for name, s := range map[string]*chatServer{
		"the same page": {sent: []int64{1, 2, 3}, stuck: true}, "empty pages": {stuck: true},
	} {
		var p pulled
		server := newChatServer(t, s)
		err := p.pull(t, server, 0, ingest.ServerOptions{PageSize: 50})
		if err == nil || !strings.Contains(err.Error(), "repeats itself") || len(server.asked) > 20 || len(p.list) != len(s.sent) {
			t.Errorf("%s: asked %d times, stored %d: %v", name, len(server.asked), len(p.list), err)
		}
	}
}

// TestPullSamePage: a server that hands out one page whatever the offset is found out before the page is
// stored twice, also where its messages have no ids.
func TestPullSamePage(t *testing.T) {
	page := func(offset int) func(http.ResponseWriter, *http.Request) {
		return says(fmt.Sprintf(`{"messages":[{"sender":"7","timestamp":5,"type":0,"content":"a"}],"sync":{"hasMore":true,"nextOffset":%d}}`, offset), 0)
	}
	var p pulled
	server := newChatServer(t, &chatServer{faults: []func(http.ResponseWriter, *http.Request){page(1), page(2), page(3)}})
	err := p.pull(t, server, 0, ingest.ServerOptions{})
	if err == nil || !strings.Contains(err.Error(), "the same page") || p.New != 1 || len(server.asked) != 2 {
		t.Errorf("stored %d, asked %d times, %v", p.New, len(server.asked), err)
	}
}

// TestPullBad: a message that cannot be read is counted, and the others come.
func TestPullBad(t *testing.T) {
	var p pulled
	server := newChatServer(t, &chatServer{faults: []func(http.ResponseWriter, *http.Request){
		says(`{"messages":[{"sender":"7","timestamp":"x","type":0,"content":"a"},{"sender":"7","timestamp":5,"type":0,"content":"b"},7]}`, 0)}})
	if err := p.pull(t, server, 0, ingest.ServerOptions{}); err != nil || p.Bad != 2 || p.New != 1 || p.BadBy["no time"] != 1 {
		t.Errorf("%+v, %v", p.Result, err)
	}
}

// TestPullLarge: an answer that is too long to be held is refused, and nothing of it is stored.
func TestPullLarge(t *testing.T) {
	var p pulled
	server := newChatServer(t, &chatServer{sent: []int64{100, 200, 300}})
	err := p.pull(t, server, 0, ingest.ServerOptions{MaxBytes: 100})
	if !errors.Is(err, reverie.ErrInvalid) || !strings.Contains(err.Error(), "pages") || p.New != 0 || len(p.waits) != 0 {
		t.Errorf("%d, waited %v, %v", p.New, p.waits, err)
	}
}

// TestServerToken: the token goes to the server that was named, and to nobody else.
func TestServerToken(t *testing.T) {
	var stolen []string
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stolen = append(stolen, r.Header.Get("Authorization")) }))
	defer thief.Close()
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.URL.Path+" "+r.Header.Get("Authorization"))
		switch r.URL.Path {
		case "/away/sessions":
			http.Redirect(w, r, thief.URL+"/sessions", http.StatusFound)
		case "/moved/sessions":
			http.Redirect(w, r, "/api/sessions", http.StatusMovedPermanently)
		case "/round/sessions":
			http.Redirect(w, r, "/round/sessions", http.StatusFound)
		default:
			_, _ = io.WriteString(w, `[]`)
		}
	}))
	defer server.Close()
	var p pulled
	opts := ingest.ServerOptions{Token: "clb_1"}
	for _, path := range []string{"/away", "/moved", "/round"} {
		if _, err := p.server(t, server.URL+path, opts).Sessions(t.Context()); !errors.Is(err, reverie.ErrConfiguration) || strings.Contains(err.Error(), "clb_1") || len(p.waits) > 0 {
			t.Errorf("%s: %v", path, err)
		}
	}
	if strings.Join(got, ", ") != "/away/sessions Bearer clb_1, /moved/sessions Bearer clb_1, /round/sessions Bearer clb_1" {
		t.Errorf("asked %q", got)
	}
	if len(stolen) > 0 {
		t.Errorf("another host was asked with %q", stolen)
	}
	for _, address := range []string{"", "x", "ftp://h", "http://", "http://u:secret@h/", "http://h/?token=secret", "http://h/#x", "http://h\x00secret"} {
		if _, err := ingest.NewServer(address, ingest.ServerOptions{}); !errors.Is(err, reverie.ErrInvalid) || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "--token-file") {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := ingest.NewServer("http://h", ingest.ServerOptions{Token: "a\nb"}); !errors.Is(err, reverie.ErrInvalid) {
		t.Errorf("a token of two lines: %v", err)
	}
}

// TestServerThatEchoes: what a server says of a refusal is shown without the token that it repeats, and without what
// a terminal would obey.
func TestServerThatEchoes(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		said := r.Header.Get("Authorization") + "\x1b[2J\u202ebackwards\u009b31m"
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 403 %s\r\nContent-Length: %d\r\n\r\n%s", said, len(said), said)
	}))
	defer server.Close()
	var p pulled
	_, err := p.server(t, server.URL, ingest.ServerOptions{Token: "clb_1"}).Sessions(t.Context())
	if err == nil || strings.ContainsAny(err.Error(), "\x1b\u202e\u009b") || strings.Contains(err.Error(), "clb_1") ||
		strings.Count(err.Error(), "Bearer [token]") != 2 || strings.Count(err.Error(), "backwards") != 2 {
		t.Errorf("%q", err)
	}
}

// TestPlain: an address is this machine's by what it is, not by how it begins.
func TestPlain(t *testing.T) {
	for address, want := range map[string]bool{
		"http://localhost": false, "http://127.1.2.3:1": false, "http://[::1]:1": false, "http://[::ffff:127.0.0.1]": false, "https://h": false,
		"http://h": true, "http://127.0.0.1.evil.example": true, "http://127.evil.example": true, "http://0.0.0.0": true,
		"http://10.0.0.1": true, "http://2130706433": true,
	} {
		s, err := ingest.NewServer(address, ingest.ServerOptions{})
		if err != nil || s.Plain() != want {
			t.Errorf("%s: %v, want %v (%v)", address, !want, want, err)
		}
	}
}

// TestSessions reads lists in all that servers put them into, and their pages.
func TestSessions(t *testing.T) {
	for name, c := range map[string]struct {
		answers []string
		want    string
		err     string
	}{
		"a list":           {[]string{`{"sessions":[{"id":1,"name":"A","type":"group","messageCount":5},{"id":"b","type":"private"},{"name":"no id"}]}`}, "1 A 5, b  0 private", ""},
		"bare":             {[]string{`[{"id":"a","name":null}]`}, "a  0", ""},
		"in data":          {[]string{`{"data":[{"id":"a"}]}`}, "a  0", ""},
		"in data, named":   {[]string{`{"data":{"sessions":[{"id":"a"}],"page":{"hasMore":true,"nextCursor":"x"}}}`, `{"sessions":[{"id":"a"},{"id":"b"}]}`}, "a  0, b  0", ""},
		"data, and page":   {[]string{`{"data":[{"id":"a"}],"page":{"hasMore":true,"nextCursor":"x"}}`, `{"data":{"sessions":[{"id":"b"}]},"page":{"hasMore":true,"nextCursor":"y"}}`, `{"data":[{"id":"c"}]}`}, "a  0, b  0, c  0", ""},
		"none":             {[]string{`{"sessions":[]}`}, "", ""},
		"in a circle":      {[]string{`{"sessions":[],"page":{"hasMore":true,"nextCursor":"x"}}`, `{"sessions":[],"page":{"hasMore":true,"nextCursor":"x"}}`}, "", "not how to get them"},
		"no cursor":        {[]string{`{"sessions":[],"page":{"hasMore":true}}`}, "", "not how to get them"},
		"something else":   {[]string{`{"ok":true}`}, "", "not of ChatLab's"},
		"no JSON":          {[]string{`<html>`}, "", "not of ChatLab's"},
		"of another type":  {[]string{`{"sessions":{"id":1}}`}, "", "not of ChatLab's"},
		"cut off, at last": {[]string{`{"sessions":[{"id"`, `[]`}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var p pulled
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if len(c.answers) == 0 {
					t.Errorf("asked once more: %s", r.URL)
					return
				}
				_, _ = io.WriteString(w, c.answers[0])
				c.answers = c.answers[1:]
			}))
			defer server.Close()
			list, err := p.server(t, server.URL, ingest.ServerOptions{}).Sessions(t.Context())
			var got []string
			for _, s := range list {
				got = append(got, fmt.Sprintf("%s %s %d", s.ID, s.Name, s.Messages))
				if s.Private {
					got[len(got)-1] += " private"
				}
			}
			if strings.Join(got, ", ") != c.want || c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}
