package ingest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"reverie/internal/ingest/chatlab"
	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

const (
	// overlap is how far before the newest message that came a pull begins, for those that
	// reached the server late.
	overlap = time.Minute

	maxPage      = 100_000 // messages asked for at once, where a second holds more than a page
	maxPages     = 100_000 // of one pull
	maxEmptyPage = 100     // in a row that say that there is more
)

// unfolding are the waits for a server that counts messages and has none yet: some only
// begin to get a chat ready when they are first asked for it.
var unfolding = []time.Duration{2 * time.Second, 3 * time.Second, 5 * time.Second}

// Pull brings the messages of a chat in that were sent since then, a page at a time; the
// zero time is all. After each page whose messages are stored, stored is told from when on
// the next pull has to ask: never later than a message that may still be missing.
func (s *Server) Pull(ctx context.Context, im *Importer, from Session, since time.Time,
	stored func(ctx context.Context, from time.Time) error) error {
	p := &pull{server: s, im: im, chat: from.Chat, limit: s.opts.PageSize, newest: since}
	if !since.IsZero() {
		p.since = max(0, since.Add(-overlap).Unix())
	}
	p.cursor = p.since
	for n := 0; ; n++ {
		got, err := p.page(ctx)
		if n == 0 && p.since == 0 && from.Messages > 0 {
			for i := 0; err == nil && got.nothing() && i < len(unfolding); i++ {
				if err = s.opts.Wait(ctx, unfolding[i]); err == nil {
					got, err = p.page(ctx)
				}
			}
		}
		if err = errors.Join(err, im.Flush(ctx)); err != nil {
			return err
		}
		more, err := p.advance(got)
		if err == nil && n >= maxPages {
			err = p.stuck("it hands out more than %d pages", maxPages)
		}
		if err = errors.Join(err, stored(ctx, p.complete(more))); err != nil || !more {
			return err
		}
	}
}

// pull is one chat on its way.
type pull struct {
	server *Server
	im     *Importer
	chat   Chat
	since  int64           // is asked for, in seconds
	cursor int64           // what the server said last to go on from
	offset int             // within that
	end    string          // until when, where the server says so
	limit  int             // messages at once
	ids    export.Ordinals // of what has come since then
	newest time.Time       // when the newest message was sent that is stored
	before pulledPage
	blank  int // empty pages in a row
}

// pulledPage is what an answer brought.
type pulledPage struct {
	count  int      // of messages, bad ones too
	print  [32]byte // of them
	newest time.Time
	sync   *chatlab.Sync
}

// nothing tells an answer that has no messages, and says that there are none.
func (g pulledPage) nothing() bool { return g.count == 0 && (g.sync == nil || !g.sync.HasMore) }

// page asks for the page at hand and imports it.
func (p *pull) page(ctx context.Context) (pulledPage, error) {
	query := url.Values{"format": {"chatlab"}, "since": {strconv.FormatInt(p.since, 10)}, "limit": {strconv.Itoa(p.limit)}}
	if p.offset > 0 {
		query.Set("offset", strconv.Itoa(p.offset))
		if p.end != "" {
			query.Set("end", p.end)
		}
	}
	what := fmt.Sprintf("messages of %q since %s", text.Excerpt(p.chat.ID, 80),
		time.Unix(p.since, 0).UTC().Format(time.RFC3339))
	var got pulledPage
	err := p.server.ask(ctx, what, p.server.at(query, "sessions", p.chat.ID, "messages"), func(a answer) error {
		var err error
		got, err = p.read(ctx, a)
		if err != nil && ctx.Err() == nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("%s: %w", what, err)
		}
		return err
	})
	return got, err
}

// hasMessages tells an answer of the protocol that has no message, nor anything else.
var hasMessages = text.NewPattern(`"messages"\s*:\s*\[|"_type"\s*:`)

// read imports an answer: one that is held as a whole only when all of it could be read.
func (p *pull) read(ctx context.Context, a answer) (pulledPage, error) {
	text, head, err := export.Decode(a)
	if err != nil || a.lines && len(bytes.TrimSpace(head)) == 0 {
		return pulledPage{}, err
	}
	ids := export.Ordinals{Now: maps.Clone(p.ids.Now), Before: maps.Clone(p.ids.Before)}
	c := &chatlab.Reader{Chat: p.chat, Known: true, IDs: ids, Print: sha256.New()}
	var got pulledPage
	var held []Record
	var bads []*Bad
	for r, err := range export.Reading(c.Tell)(ctx, Source{Head: head, Reader: text}, ReadOptions{}) {
		var bad *Bad
		switch {
		case errors.As(err, &bad):
			bads = append(bads, bad)
		case errors.Is(err, export.ErrNoJSON):
			return got, noAnswer(err)
		case err != nil:
			return got, err
		default:
			held = append(held, r)
			if r.Message.SentAt.After(got.newest) {
				got.newest = r.Message.SentAt
			}
		}
		got.count++
		if !a.whole {
			if err := p.take(ctx, held, bads); err != nil {
				return got, err
			}
			held, bads = held[:0], bads[:0]
		}
	}
	if got.count == 0 && !c.Noted && !hasMessages.Match(head) {
		return got, errNoAnswer
	}
	c.Print.Sum(got.print[:0])
	got.sync = c.Sync
	if p.again(got) {
		return got, nil
	}
	p.ids = c.IDs
	return got, p.take(ctx, held, bads)
}

// again tells a page that came before, from a server that does not know offsets.
func (p *pull) again(got pulledPage) bool {
	return p.offset > 0 && got.count > 0 && got.count == p.before.count && got.print == p.before.print
}

// take imports records.
func (p *pull) take(ctx context.Context, list []Record, bads []*Bad) error {
	for _, r := range list {
		err := p.im.Take(ctx, chatlab.Format.Name, r)
		var bad *Bad
		if errors.As(err, &bad) {
			bads, err = append(bads, bad), nil
		}
		if err != nil {
			return err
		}
	}
	for _, bad := range bads {
		if err := p.im.Skip(&Bad{Place: p.chat.ID + ", " + bad.Place, Reason: bad.Reason, Err: bad.Err}); err != nil {
			return err
		}
	}
	return nil
}

// advance says where to go on after a page, if there is more. Whatever a server says, each
// step leads further, or is an error.
func (p *pull) advance(got pulledPage) (more bool, err error) {
	if got.newest.After(p.newest) {
		p.newest = got.newest
	}
	if got.sync == nil || !got.sync.HasMore {
		return false, nil
	}
	if p.blank++; got.count > 0 {
		p.blank = 0
	}
	next, offset := p.next(got.sync)
	again := p.again(got)
	p.before = got
	switch {
	case p.blank > maxEmptyPage:
		return true, p.stuck("it says that there is more, and hands out %d empty pages", p.blank)
	case next > p.cursor:
		p.cursor, p.offset, p.ids = next, 0, export.Ordinals{}
		p.since = next - 1 // whether since is one of those seconds servers do not agree on
	case again && p.limit >= maxPage:
		return true, p.stuck("it hands out the same page again and again")
	case again:
		p.limit, p.offset, p.ids = min(p.limit*10, maxPage), 0, export.Ordinals{}
	case offset > p.offset:
		p.offset, p.end = offset, strings.TrimSpace(string(got.sync.Watermark))
	case got.count > 0: // more within one second than a page holds
		p.offset += got.count
	default:
		return true, p.stuck("it says that there is more, and not where")
	}
	return true, nil
}

// next is what a server says to go on from. What lies ahead of all clocks is as good as
// nothing.
func (p *pull) next(sync *chatlab.Sync) (since int64, offset int) {
	if at, err := export.LooseTime(string(sync.NextSince)); err == nil &&
		at.Before(p.server.opts.Now().Add(24*time.Hour)) {
		since = at.Unix()
	}
	offset, _ = strconv.Atoi(string(sync.NextOffset)) // 0 where it is none
	return since, offset
}

// complete is from when on the next pull has to ask. On the way only what the server has
// left behind is complete. What was sent in the future, by a clock that is wrong, does not
// hide what comes until then.
func (p *pull) complete(onTheWay bool) time.Time {
	at := p.newest
	if cursor := time.Unix(p.cursor, 0).UTC(); onTheWay && at.After(cursor) {
		at = cursor
	}
	if now := p.server.opts.Now().UTC(); at.After(now) {
		at = now
	}
	return at
}

func (p *pull) stuck(format string, args ...any) error {
	return fmt.Errorf("messages of %q: the server does not get on: "+format+"; what has come is kept: %w",
		append(append([]any{text.Excerpt(p.chat.ID, 80)}, args...), reverie.ErrInvalid)...)
}

const (
	sessionsAtOnce = 200
	maxSessions    = 1 << 17
)

// errNoAnswer is what a server's answer is that has nothing of the protocol.
var errNoAnswer = fmt.Errorf("the answer is none of ChatLab's pull protocol; check the address: %w",
	reverie.ErrConfiguration)

// Session is a chat that a server hands over, by the server's own id.
type Session struct {
	Chat
	Messages int // as the server counts them; 0 where it does not
}

// Sessions lists the chats of a server.
func (s *Server) Sessions(ctx context.Context) ([]Session, error) {
	const what = "the list of sessions"
	var all []Session
	seen, cursors := map[string]bool{}, map[string]bool{}
	query := url.Values{"format": {"chatlab"}, "limit": {strconv.Itoa(sessionsAtOnce)}}
	for {
		var list []pullSession
		var page sessionsPage
		err := s.ask(ctx, what, s.at(query, "sessions"), func(a answer) (err error) {
			if !a.whole {
				return fmt.Errorf("%s is longer than %d bytes: %w", what, s.opts.Held, reverie.ErrInvalid)
			}
			list, page, err = readSessions(a)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, found := range list {
			if id := string(found.ID); id != "" && !seen[id] { // pages may overlap
				seen[id] = true
				count, _ := strconv.Atoi(string(found.Messages)) // 0 where it is none
				all = append(all, Session{Chat: Chat{ID: id, Name: string(found.Name)}, Messages: count})
			}
		}
		cursor := string(page.NextCursor)
		switch {
		case !page.HasMore:
			return all, nil
		case cursor == "" || cursors[cursor]:
			return nil, fmt.Errorf("%s: the server says that there are more, and not how to get on to them: %w", what,
				reverie.ErrInvalid)
		case len(all) > maxSessions || len(cursors) > maxSessions:
			return nil, fmt.Errorf("%s has more than %d: %w", what, maxSessions, reverie.ErrInvalid)
		}
		cursors[cursor] = true
		query.Set("cursor", cursor)
	}
}

type pullSession struct {
	ID       export.Text `json:"id"`
	Name     export.Text `json:"name"`
	Messages export.Text `json:"messageCount"`
}

type sessionsPage struct {
	HasMore    bool        `json:"hasMore"`
	NextCursor export.Text `json:"nextCursor"`
}

// readSessions reads a list of sessions, by itself or in what servers put it into.
func readSessions(r io.Reader) (list []pullSession, page sessionsPage, err error) {
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, page, err
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || export.EndsEarly(raw) {
		return nil, page, io.ErrUnexpectedEOF
	}
	for range 2 { // the list may be in data, and so may what it is in
		if raw[0] == '[' {
			err = json.Unmarshal(raw, &list)
			return list, page, noAnswer(err)
		}
		var doc struct {
			Sessions *[]pullSession  `json:"sessions"`
			Page     *sessionsPage   `json:"page"`
			Data     json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(raw, &doc); err != nil {
			return nil, page, noAnswer(err)
		}
		if doc.Page != nil {
			page = *doc.Page
		}
		if doc.Sessions != nil {
			return *doc.Sessions, page, nil
		}
		if raw = bytes.TrimSpace(doc.Data); len(raw) == 0 {
			break
		}
	}
	return nil, page, errNoAnswer
}

// noAnswer says what is wrong with an answer that is no JSON, or of other types.
func noAnswer(err error) error {
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return fmt.Errorf("%w (%w)", errNoAnswer, export.Readable(err))
}

// ServerOptions say how a server is asked. Zero values mean the defaults.
type ServerOptions struct {
	Token    string        // sent as Bearer, to this server only; "" = none
	PageSize int           // messages asked for at once; default 1000
	Attempts int           // for one answer, at most; default 4
	Idle     time.Duration // without a byte, after which an answer is given up; default 60 s
	Held     int           // bytes up to which an answer is held, and asked for again if it breaks off; default 16 MiB
	Now      func() time.Time
	// Wait waits before another attempt; it ends with the context. The default waits.
	Wait func(ctx context.Context, d time.Duration) error
	// Transport carries the requests; default a [http.Transport] of its own.
	Transport http.RoundTripper
}

const (
	backoff       = time.Second // before the second attempt, doubled each time
	maxBackoff    = 30 * time.Second
	maxRetryAfter = time.Minute // longest wait that a server may ask for
	maxAnswer     = 4 << 30     // bytes of one answer
	maxRequest    = time.Hour   // of one answer, however fast its bytes come
)

// Server hands chats over by ChatLab's pull protocol. It is safe for concurrent use.
type Server struct {
	base   *url.URL
	opts   ServerOptions
	client *http.Client
}

// NewServer returns the server at an address, under which it has /sessions. The error is
// reverie.ErrInvalid.
func NewServer(address string, opts ServerOptions) (*Server, error) {
	base, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("the address of the server is no URL such as http://127.0.0.1:5031/api/v1: %w",
			reverie.ErrInvalid) // it may hold a secret
	case base.RawQuery != "" || base.Fragment != "" || base.User != nil:
		return nil, fmt.Errorf("the address %s://%s has a user or a query; a token is said by itself: %w", base.Scheme,
			base.Host, reverie.ErrInvalid)
	case strings.ContainsFunc(opts.Token, func(c rune) bool { return c <= ' ' || c > '~' }):
		return nil, fmt.Errorf("the token holds what a header cannot: %w", reverie.ErrInvalid)
	}
	base.Path, base.RawPath = strings.TrimRight(base.Path, "/"), strings.TrimRight(base.RawPath, "/")
	opts.PageSize = cmp.Or(opts.PageSize, 1000)
	opts.Attempts = cmp.Or(opts.Attempts, 4)
	opts.Idle = cmp.Or(opts.Idle, time.Minute)
	opts.Held = cmp.Or(opts.Held, 16<<20)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Wait == nil {
		opts.Wait = wait
	}
	if opts.Transport == nil {
		opts.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, IdleConnTimeout: time.Minute,
			TLSHandshakeTimeout: 30 * time.Second}
	}
	s := &Server{base: base, opts: opts}
	s.client = &http.Client{Transport: opts.Transport, CheckRedirect: s.redirect}
	return s, nil
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Source is the server's address. It holds no secrets.
func (s *Server) Source() string { return s.base.String() }

// Plain tells whether what goes to the server and back can be read on the way.
func (s *Server) Plain() bool {
	host := s.base.Hostname()
	return s.base.Scheme == "http" && host != "localhost" && !strings.HasPrefix(host, "127.") && host != "::1"
}

// Close ends the connections that wait to be used again.
func (s *Server) Close() { s.client.CloseIdleConnections() }

// redirect follows to the same host only, so that neither the token nor the choice of where
// chats come from goes to another.
func (s *Server) redirect(to *http.Request, via []*http.Request) error {
	same := to.URL.Scheme == s.base.Scheme && to.URL.Host == s.base.Host
	secured := to.URL.Scheme == "https" && to.URL.Hostname() == s.base.Hostname()
	switch {
	case !same && !secured:
		return fmt.Errorf("it sends on to another host, %s://%s, which is not followed; name that address if it is the "+
			"right one: %w", to.URL.Scheme, to.URL.Host, reverie.ErrConfiguration)
	case len(via) >= 5:
		return fmt.Errorf("it sends on and on: %w", reverie.ErrConfiguration)
	}
	return nil
}

// at is the address of a route, whose parts may hold anything.
func (s *Server) at(query url.Values, parts ...string) string {
	u := *s.base
	path, raw := s.base.Path, s.base.EscapedPath()
	for _, p := range parts {
		escaped := url.PathEscape(p)
		if p == "." || p == ".." {
			escaped = strings.ReplaceAll(p, ".", "%2E")
		}
		path, raw = path+"/"+p, raw+"/"+escaped
	}
	u.Path, u.RawPath, u.RawQuery = path, raw, query.Encode()
	return u.String()
}

// PullError says how a server failed to answer.
type PullError struct {
	What    string // was asked for
	Status  int    // 0 where there was no whole answer
	Err     error
	passing bool
	after   time.Duration // that the server asks to wait
}

func (e *PullError) Error() string {
	hint := "; what has come is kept, pull again later"
	switch {
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden:
		hint = "; check the token (--token-file or REVERIE_PULL_TOKEN)"
	case e.Status == http.StatusNotFound:
		hint = "; check the address, up to what stands in front of /sessions"
	case !e.passing:
		hint = ""
	}
	return fmt.Sprintf("ask for %s: %s%s", e.What, e.Err, hint)
}

// Unwrap gives the cause.
func (e *PullError) Unwrap() error { return e.Err }

// Is sorts the error into the domain's: what may pass is a [reverie.ErrDeferred], a refused
// token or an unknown route a [reverie.ErrConfiguration].
func (e *PullError) Is(target error) bool {
	switch target {
	case reverie.ErrDeferred:
		return e.passing
	case reverie.ErrConfiguration:
		return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden || e.Status == http.StatusNotFound
	}
	return false
}

// answer is what a server says.
type answer struct {
	io.Reader
	whole bool // all of it is held
	lines bool // it is said to be lines, of which there may be none
}

// ask gets an answer and hands it to use, again after what may pass. An answer that is held
// as a whole may be handed over again: use must have done nothing when it returns
// io.ErrUnexpectedEOF. One that is longer is handed over once.
func (s *Server) ask(ctx context.Context, what, at string, use func(answer) error) error {
	for attempt := 1; ; attempt++ {
		err := s.try(ctx, what, at, use)
		var fault *PullError
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("ask for %s: %w", what, ctx.Err())
		case !errors.As(err, &fault) || !fault.passing || fault.after > maxRetryAfter || attempt == s.opts.Attempts:
			return err
		}
		delay := fault.after
		if delay == 0 {
			delay = min(maxBackoff, backoff<<(attempt-1))
		}
		if err := s.opts.Wait(ctx, delay+rand.N(delay/10+1)); err != nil {
			return fmt.Errorf("ask for %s: %w (before that: %w)", what, err, fault)
		}
	}
}

func (s *Server) try(ctx context.Context, what, at string, use func(answer) error) error {
	ctx, cancel := context.WithTimeout(ctx, maxRequest)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return fmt.Errorf("ask for %s: %w", what, err)
	}
	req.Header.Set("Accept", "application/json, application/x-ndjson")
	req.Header.Set("User-Agent", "reverie")
	if s.opts.Token != "" {
		req.Header.Set("Authorization", "Bearer "+s.opts.Token)
	}
	watch := time.AfterFunc(s.opts.Idle, cancel)
	defer watch.Stop()
	res, err := s.client.Do(req)
	if err != nil {
		var at *url.Error // which says the address once more
		if errors.As(err, &at) {
			err = at.Err
		}
		var certificate *tls.CertificateVerificationError
		return &PullError{What: what, Err: s.silent(ctx, err), passing: !errors.Is(err, reverie.ErrConfiguration) &&
			!errors.As(err, &certificate)}
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	if res.StatusCode != http.StatusOK {
		return refused(what, res, s.opts.Now())
	}
	body := http.MaxBytesReader(nil, lively{res.Body, watch, s.opts.Idle}, maxAnswer)
	kind := res.Header.Get("Content-Type")
	lines := strings.Contains(kind, "ndjson") || strings.Contains(kind, "jsonl")
	var head bytes.Buffer
	_, err = io.CopyN(&head, body, int64(s.opts.Held))
	switch {
	case errors.Is(err, io.EOF):
		err = use(answer{&head, true, lines})
	case err == nil:
		err = use(answer{io.MultiReader(&head, body), false, lines})
		if errors.Is(err, io.ErrUnexpectedEOF) || ctx.Err() != nil {
			return fmt.Errorf("ask for %s: %w", what, s.silent(ctx, err))
		}
		return err
	default:
		return &PullError{What: what, Err: s.silent(ctx, err), passing: true}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &PullError{What: what, Err: err, passing: true}
	}
	return err
}

// silent says of an answer that was given up why it was.
func (s *Server) silent(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("nothing came for %s: %w", s.opts.Idle, err)
	}
	return err
}

// lively is an answer for whose next bytes patience ends.
type lively struct {
	io.ReadCloser
	watch *time.Timer
	idle  time.Duration
}

func (l lively) Read(p []byte) (int, error) {
	l.watch.Reset(l.idle)
	defer l.watch.Stop() // what is made of it takes the time that it takes
	return l.ReadCloser.Read(p)
}

// refused makes an error of an answer that is none.
func refused(what string, res *http.Response, now time.Time) error {
	said, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10)) // the status says it, too
	err := fmt.Errorf("HTTP %s", strings.TrimSpace(res.Status))
	if words := text.Excerpt(strings.ToValidUTF8(string(said), ""), 200); words != "" {
		err = fmt.Errorf("%w: %s", err, words)
	}
	e := &PullError{What: what, Status: res.StatusCode, Err: err, passing: res.StatusCode == http.StatusTooManyRequests ||
		res.StatusCode >= 500 || res.StatusCode == http.StatusRequestTimeout}
	after := res.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(after); err == nil && seconds > 0 {
		e.after = min(time.Duration(seconds), 1e6) * time.Second
	} else if at, err := http.ParseTime(after); err == nil && at.After(now) {
		e.after = at.Sub(now)
	}
	return e
}
