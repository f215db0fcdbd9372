package ingest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"reverie/internal/ingest/chatlab"
	"reverie/internal/ingest/export"
	"reverie/internal/remote"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

const (
	// overlap is how far before the newest received message a pull begins, for messages that reached the server late.
	overlap = time.Minute

	maxPage  = 100_000 // messages of one request, if a second has more than a page
	maxPages = 100_000 // pages of one pull
)

// Pull imports the messages of a chat sent since an instant, page by page; zero means all. After storing a page, it
// calls stored with the start of the next pull. No message that may still be missing is earlier than that.
func (s *Server) Pull(ctx context.Context, im *Importer, from Session, since time.Time,
	stored func(ctx context.Context, from time.Time) error) error {
	p := &pull{server: s, im: im, chat: from.Chat, limit: s.pageSize, newest: since}
	if !since.IsZero() {
		p.since = max(0, since.Add(-overlap).Unix())
	}
	p.cursor = p.since
	for range maxPages {
		page, err := p.page(ctx)
		if err = errors.Join(err, im.Flush(ctx)); err != nil {
			return err
		}
		more, err := p.advance(page)
		if err = errors.Join(err, stored(ctx, p.complete(more))); err != nil || !more {
			return err
		}
	}
	return p.stuck(fmt.Sprintf("it hands out more than %d pages", maxPages))
}

// pull is the state of pulling one chat.
type pull struct {
	server *Server
	im     *Importer
	chat   Chat
	since  int64           // start of the current page, in seconds
	cursor int64           // where the server last said to continue
	offset int             // offset from there
	end    string          // end of the range, if the server says so
	limit  int             // messages per request
	ids    export.Ordinals // ordinals of messages since cursor
	newest time.Time       // time of the newest stored message
	sum    [32]byte        // hash of the previous page
}

// pulledPage is the content of one answer.
type pulledPage struct {
	count   int // number of messages, including bad ones
	records []Record
	bad     []*Bad
	newest  time.Time
	sum     [32]byte // hash of the messages without their ids
	sync    chatlab.Sync
	ids     export.Ordinals
}

// page requests the current page and imports it.
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
	err := p.server.ask(ctx, what, p.server.At(query, "sessions", p.chat.ID, "messages"), func(a answer) (err error) {
		if got, err = p.read(ctx, a); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("%s: %w", what, err)
		}
		return err
	})
	if err == nil && p.offset > 0 && len(got.records) > 0 && got.sum == p.sum {
		err = p.stuck("it hands out the same page again")
	}
	if err == nil {
		p.ids, p.sum = got.ids, got.sum
		err = p.take(ctx, got)
	}
	return got, err
}

// hasMessages recognises an answer of the protocol that contains no messages.
var hasMessages = text.NewPattern(`"messages"\s*:\s*\[|"_type"\s*:`)

// read parses an answer.
func (p *pull) read(ctx context.Context, a answer) (got pulledPage, err error) {
	if a.lines && len(bytes.TrimSpace(a.body)) == 0 {
		return got, nil
	}
	c := &chatlab.Reader{Chat: p.chat, Known: true,
		IDs: export.Ordinals{Now: maps.Clone(p.ids.Now), Before: maps.Clone(p.ids.Before)}}
	src := Source{Head: a.body[:min(len(a.body), HeadSize)], Reader: bytes.NewReader(a.body)}
	sum := sha256.New()
	for r, err := range (Format{Tell: c.Tell}).Read(ctx, src, ReadOptions{}) {
		var bad *Bad
		switch {
		case errors.As(err, &bad):
			got.bad = append(got.bad, bad)
		case err != nil:
			return got, noAnswer(err)
		default:
			got.records = append(got.records, r)
			_, _ = fmt.Fprintf(sum, "%d %q %q\n", r.Message.SentAt.UnixNano(), r.Message.AuthorID, r.Message.Text)
			if r.Message.SentAt.After(got.newest) {
				got.newest = r.Message.SentAt
			}
		}
		got.count++
	}
	if got.count == 0 && !hasMessages.Match(a.body) {
		return got, errNoAnswer
	}
	got.sync, got.ids, got.sum = c.Sync, c.IDs, [32]byte(sum.Sum(nil))
	return got, nil
}

// take imports a page.
func (p *pull) take(ctx context.Context, page pulledPage) error {
	bads := page.bad
	for _, r := range page.records {
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

// advance moves to the next page, if there is one. Each step moves forward or is an error, whatever the server
// says.
func (p *pull) advance(page pulledPage) (more bool, err error) {
	if page.newest.After(p.newest) {
		p.newest = page.newest
	}
	if !page.sync.HasMore {
		return false, nil
	}
	next, offset := p.next(page.sync)
	switch {
	case next > p.cursor:
		p.cursor, p.offset, p.ids = next, 0, export.Ordinals{}
		p.since = next - 1 // servers disagree on whether since includes its second
	case offset > p.offset:
		p.offset, p.end = offset, strings.TrimSpace(string(page.sync.Watermark))
	case page.count > 0 && p.limit < maxPage: // one second has more messages than a page
		p.limit, p.offset, p.ids = min(p.limit*10, maxPage), 0, export.Ordinals{}
	default:
		return true, p.stuck("it says that there is more, and not where")
	}
	return true, nil
}

// next returns where the server says to continue. A time in the future counts as none.
func (p *pull) next(sync chatlab.Sync) (since int64, offset int) {
	if at, err := export.Time(string(sync.NextSince), time.UTC); err == nil &&
		at.Before(p.server.Now().Add(24*time.Hour)) {
		since = at.Unix()
	}
	offset, _ = strconv.Atoi(string(sync.NextOffset)) // 0 if invalid
	return since, offset
}

// complete returns where the next pull must start. In the middle of a pull, only what is before the server's cursor
// is complete. A message with a time in the future does not hide those that come until then.
func (p *pull) complete(onTheWay bool) time.Time {
	at := p.newest
	if cursor := time.Unix(p.cursor, 0).UTC(); onTheWay && at.After(cursor) {
		at = cursor
	}
	if now := p.server.Now().UTC(); at.After(now) {
		at = now
	}
	return at
}

func (p *pull) stuck(why string) error {
	return fmt.Errorf("messages of %q: the server repeats itself: %s; what has come is kept: %w",
		text.Excerpt(p.chat.ID, 80), why, reverie.ErrInvalid)
}

const (
	sessionsAtOnce = 200
	maxSessions    = 1 << 17
)

// errNoAnswer is the error of an answer outside the protocol.
var errNoAnswer = fmt.Errorf("the answer is not of ChatLab's pull protocol; check the address: %w",
	reverie.ErrConfiguration)

// Session is a chat on a server, with the server's own id.
type Session struct {
	Chat
	Messages int // as the server counts; 0 if it does not
}

// Sessions lists the chats of a server.
func (s *Server) Sessions(ctx context.Context) ([]Session, error) {
	const what = "the list of sessions"
	var all []Session
	seen := map[string]bool{}
	query := url.Values{"format": {"chatlab"}, "limit": {strconv.Itoa(sessionsAtOnce)}}
	for {
		var page sessionsPage
		err := s.ask(ctx, what, s.At(query, "sessions"), func(a answer) (err error) {
			page, err = readSessions(a.body)
			return err
		})
		if err != nil {
			return nil, err
		}
		before := len(all)
		for _, found := range *page.Sessions {
			if id := string(found.ID); id != "" && !seen[id] { // pages may overlap
				seen[id] = true
				count, _ := strconv.Atoi(string(found.Messages)) // 0 if invalid
				all = append(all, Session{Chat: Chat{ID: id, Name: string(found.Name), Private: found.Type == "private"}, Messages: count})
			}
		}
		switch {
		case !page.Page.HasMore:
			return all, nil
		case page.Page.NextCursor == "" || len(all) == before:
			return nil, fmt.Errorf("%s: the server says that there are more, but not how to get them: %w", what,
				reverie.ErrInvalid)
		case len(all) > maxSessions:
			return nil, fmt.Errorf("%s has more than %d: %w", what, maxSessions, reverie.ErrInvalid)
		}
		query.Set("cursor", string(page.Page.NextCursor))
	}
}

// sessionsPage is a page of the list of sessions.
type sessionsPage struct {
	Sessions *[]struct {
		ID       export.Text `json:"id"`
		Name     export.Text `json:"name"`
		Type     export.Text `json:"type"`
		Messages export.Text `json:"messageCount"`
	} `json:"sessions"`
	Page struct {
		HasMore    bool        `json:"hasMore"`
		NextCursor export.Text `json:"nextCursor"`
	} `json:"page"`
	Data json.RawMessage `json:"data"`
}

// readSessions parses a list of sessions, which servers may wrap.
func readSessions(raw []byte) (page sessionsPage, err error) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || export.EndsEarly(raw) {
		return page, io.ErrUnexpectedEOF
	}
	if raw[0] == '[' {
		err = json.Unmarshal(raw, &page.Sessions)
	} else {
		err = json.Unmarshal(raw, &page)
	}
	switch {
	case err != nil:
		return page, noAnswer(err)
	case page.Sessions == nil && len(page.Data) > 0:
		inner, err := readSessions(page.Data)
		if !inner.Page.HasMore { // it may be outside of the wrapper
			inner.Page = page.Page
		}
		return inner, err
	case page.Sessions == nil:
		return page, errNoAnswer
	}
	return page, nil
}

// noAnswer describes an answer that is not JSON, or has other types.
func noAnswer(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return fmt.Errorf("%w (%w)", errNoAnswer, export.Readable(err))
}

// ServerOptions say how to call a server. Zero values mean the defaults.
type ServerOptions struct {
	Token    string        // sent as Bearer token, only to this server; "" = none
	PageSize int           // messages per request; default 1000
	Timeout  time.Duration // of one answer; default 10 minutes
	MaxBytes int64         // of one answer, which is held in memory; default 256 MiB
	Now      func() time.Time
	// Wait waits before another attempt, or until the context ends. nil uses a timer.
	Wait func(ctx context.Context, d time.Duration) error
}

// Server is a client of ChatLab's pull protocol. It is safe for concurrent use.
type Server struct {
	*remote.Server
	pageSize int
}

// NewServer returns a client of the server at an address, below which it has /sessions. The error is
// reverie.ErrInvalid.
func NewServer(address string, o ServerOptions) (*Server, error) {
	s, err := remote.New(address, remote.Options{Token: o.Token, Timeout: cmp.Or(o.Timeout, 10*time.Minute),
		MaxBytes: cmp.Or(o.MaxBytes, 256<<20), Attempts: 4, Backoff: time.Second, Patience: time.Minute, Now: o.Now, Wait: o.Wait})
	if err != nil {
		return nil, fmt.Errorf("%w; give a token with --token-file or REVERIE_PULL_TOKEN: %w", err, reverie.ErrInvalid)
	}
	return &Server{s, cmp.Or(o.PageSize, 1000)}, nil
}

// Source returns the server's address without secrets.
func (s *Server) Source() string { return s.Base.String() }

// answer is the body of an answer, and whether its type is JSON Lines, possibly without any line.
type answer struct {
	body  []byte
	lines bool
}

// ask requests an answer and passes it to use: see [remote.Server.Ask].
func (s *Server) ask(ctx context.Context, what, at string, use func(answer) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return fmt.Errorf("ask for %s: %w", what, err)
	}
	req.Header.Set("Accept", "application/json, application/x-ndjson")
	err = s.Ask(req, func(h http.Header, body []byte) error {
		kind := h.Get("Content-Type")
		return use(answer{body, strings.Contains(kind, "ndjson") || strings.Contains(kind, "jsonl")})
	})
	var fault *remote.Fault
	errors.As(err, &fault)
	hint := ""
	switch {
	case err == nil:
		return nil
	case errors.Is(err, remote.ErrTooLong):
		return fmt.Errorf("ask for %s: %w; the server must split it into pages: %w", what, err, reverie.ErrInvalid)
	case fault == nil:
		return err
	case fault.Status == http.StatusNotFound:
		hint = "; check the address, up to what stands in front of /sessions"
	case fault.Refused():
		hint = "; check the token (--token-file or REVERIE_PULL_TOKEN)"
	case fault.Passing:
		hint = "; what has come is kept, pull again later"
	}
	return fmt.Errorf("ask for %s: %w%s", what, err, hint)
}
