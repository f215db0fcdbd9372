package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
)

// Store stores messages, idempotently by id, and their later changes.
type Store interface {
	ImportMessages(ctx context.Context, groupID string, messages []reverie.Message) (reverie.ImportResult, error)
	ChangeMessages(ctx context.Context, groupID string, changes []reverie.MessageChange) (reverie.ChangeResult, error)
}

// Options of an import.
type Options struct {
	Filters
	// Group returns the group of a chat; it is called once for each chat.
	Group  func(ctx context.Context, format string, chat Chat) (groupID string, err error)
	Strict bool       // stop at the first bad record
	OnBad  func(*Bad) // called for each bad record; may be nil
	OnRead func()     // called from time to time while reading; may be nil
	// Pause is how long a message may be held while its source has no more data; 0 waits for a full batch.
	Pause time.Duration
	Now   func() time.Time // nil: time.Now
}

// Counts are counts of records.
type Counts struct {
	Records  int                    `json:"records"`
	New      int                    `json:"new"`
	Known    int                    `json:"known"`             // the id was already stored; left unchanged
	Changed  int                    `json:"changed,omitempty"` // of these: the text differs
	SameID   int                    `json:"same_id,omitempty"` // had the id of another message, and got their own
	Erased   int                    `json:"erased,omitempty"`  // were erased before, and are not stored again
	Long     int                    `json:"long,omitempty"`    // models will read only their beginning
	Filtered map[reverie.Filter]int `json:"filtered"`          // of the new and known ones
	reverie.ChangeResult
}

func (c *Counts) add(m reverie.Message) {
	c.Records++
	if m.Filter == reverie.FilterNone && len(m.Text) > reverie.MaxMessageShown {
		c.Long++
	}
	if m.Filter != reverie.FilterNone {
		c.Filtered[m.Filter]++
	}
}

// Add adds other counts.
func (c *Counts) Add(o Counts) {
	c.Records, c.New, c.Known, c.Erased = c.Records+o.Records, c.New+o.New, c.Known+o.Known, c.Erased+o.Erased
	c.Changed, c.SameID, c.Long = c.Changed+o.Changed, c.SameID+o.SameID, c.Long+o.Long
	c.ChangeResult.Add(o.ChangeResult)
	for f, n := range o.Filtered {
		c.Filtered[f] += n
	}
}

// ChatResult is the result for one chat.
type ChatResult struct {
	GroupID string `json:"group_id"`
	Chat    string `json:"chat_id,omitempty"`
	Name    string `json:"name,omitempty"`
	Counts
	First time.Time `json:"first,omitzero"` // time of the earliest and the latest message
	Last  time.Time `json:"last,omitzero"`
}

// Result is the result of an import: Records are those stored or known, and the bad ones.
type Result struct {
	Counts
	Bad    int            `json:"bad"`
	BadBy  map[string]int `json:"bad_by_reason"`
	Groups []*ChatResult  `json:"groups"` // one for each chat, in order of appearance
}

const (
	batchSize  = 1000
	batchBytes = 8 << 20   // bytes of text from which a batch is stored, even with few messages
	batchHeld  = 10_000    // messages of all chats, likewise
	badReasons = 100       // number of different reasons that are counted; further ones count as "another"
	otherBad   = "another" // the reason for those

	// maxAhead is how far in the future a message may be. A later message would silently wait for its day.
	maxAhead = 24 * time.Hour
)

var (
	errAhead       = fmt.Errorf("sent_at is more than a day ahead of this clock: %w", reverie.ErrInvalid)
	errEditedAhead = fmt.Errorf("edited_at is more than a day ahead of this clock: %w", reverie.ErrInvalid)
)

// CheckEdited refuses an edit far in the future: no later edit would count.
func CheckEdited(at, now time.Time) error {
	if at.After(now.Add(maxAhead)) {
		return errEditedAhead
	}
	return nil
}

// Importer filters records, assigns each chat its group, and stores messages in batches. It holds a bounded number
// of them. It is for one goroutine; the last call must be Flush.
type Importer struct {
	store Store // nil: only count
	opts  Options
	chats map[chatKey]*batch
	list  []*batch
	held  int // messages in all batches
	bytes int // bytes of their texts
	seen  seen

	records int    // without bad ones
	total   Result // what concerns no chat: bad records
}

type chatKey struct{ format, id string }

// batch is the part of a chat that is not stored yet.
type batch struct {
	ChatResult
	messages []reverie.Message
	changes  []reverie.MessageChange
}

// NewImporter returns an importer into a store. Without a store it counts records, and cannot tell new from known
// ones.
func NewImporter(store Store, opts Options) *Importer {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Importer{store: store, opts: opts, chats: map[chatKey]*batch{},
		total: Result{BadBy: map[string]int{}}}
}

// Read imports a source. Records before an error are stored. With Strict, a bad record is such an error, a [*Bad].
func (im *Importer) Read(ctx context.Context, src Source, f Format, opts ReadOptions) error {
	if im.opts.Pause > 0 && src.Reader != nil && im.store != nil {
		src.Reader = &patient{ctx: ctx, from: src.Reader, im: im}
	}
	for r, err := range f.Read(ctx, src, opts) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = im.Take(ctx, f.Name, r)
		}
		var bad *Bad
		if errors.As(err, &bad) {
			err = im.Skip(bad)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", src.Name, err), im.Flush(ctx))
		}
	}
	return im.Flush(ctx)
}

// Take adds a record of a format. A record that cannot be stored is a [*Bad], to be passed to [Importer.Skip].
func (im *Importer) Take(ctx context.Context, format string, r Record) error {
	if r.Change != nil {
		if err := im.takeChange(ctx, format, r); err != nil || r.Message.ID == "" {
			return err
		}
	}
	im.opts.Apply(&r)
	m := r.Message
	m.Text, m.Author = clean(m.Text), export.Shortened(clean(m.Author))
	if m.Deleted = r.Gone; m.Deleted {
		m.Text = ""
	}
	if r.Reactions != nil {
		m.Reactions = append([]reverie.Reaction{}, reverie.Reacted(reverie.StorableReactions(r.Reactions))...)
	}
	err := m.Normalize()
	if err == nil && m.SentAt.After(im.opts.Now().Add(maxAhead)) {
		err = errAhead
	}
	if err == nil && m.EditedAt != nil {
		err = CheckEdited(*m.EditedAt, im.opts.Now())
	}
	if err != nil {
		return &Bad{Place: r.Place, Reason: export.Reason(err), Err: err}
	}
	b, err := im.batch(ctx, format, r.Chat)
	if err != nil {
		return err
	}
	m.GroupID = b.GroupID
	same := im.seen.resolveID(&m, r.Edited)
	b.add(m)
	if im.records++; same == otherOfID {
		b.SameID++
	}
	if b.First.IsZero() || m.SentAt.Before(b.First) {
		b.First = m.SentAt
	}
	if m.SentAt.After(b.Last) {
		b.Last = m.SentAt
	}
	if im.store == nil {
		if im.records%batchSize == 0 {
			im.told()
		}
		return nil
	}
	if same == oldOfID || same == editOfID && im.edit(b, m) {
		b.Known++
		return nil
	}
	b.messages = append(b.messages, m)
	return im.hold(ctx, b, len(m.Text))
}

// takeChange adds a change of a message.
func (im *Importer) takeChange(ctx context.Context, format string, r Record) error {
	c, bytes := *r.Change, 0
	if c.Text != nil {
		text := clean(*c.Text)
		if c.Text, bytes = &text, len(text); im.opts.Command(text) {
			c.Filter = reverie.FilterCommand
		}
	}
	err := c.Normalize()
	if err == nil {
		err = CheckEdited(c.EditedAt, im.opts.Now())
	}
	if err != nil {
		return &Bad{Place: r.Place, Reason: export.Reason(err), Err: err}
	}
	b, err := im.batch(ctx, format, r.Chat)
	if err != nil || im.store == nil {
		return err
	}
	b.changes = append(b.changes, c)
	return im.hold(ctx, b, bytes)
}

// hold stores what is held, if it would be too much with one more message of that many bytes.
func (im *Importer) hold(ctx context.Context, b *batch, bytes int) error {
	im.held++
	im.bytes += bytes
	switch {
	case im.held >= batchHeld, im.bytes >= batchBytes:
		return im.Flush(ctx)
	case len(b.messages) == batchSize, len(b.changes) == batchSize:
		return im.flush(ctx, b)
	}
	return nil
}

// edit replaces the held version of a message by its newer text or its deletion. Once the message is stored, a
// change is stored separately.
func (im *Importer) edit(b *batch, m reverie.Message) bool {
	for i := range b.messages {
		if held := &b.messages[i]; held.ID == m.ID {
			if older := held.EditedAt != nil && m.EditedAt != nil && !m.EditedAt.After(*held.EditedAt); !older {
				im.bytes += len(m.Text) - len(held.Text)
				held.Text, held.Filter, held.EditedAt, held.Deleted = m.Text, m.Filter, m.EditedAt, m.Deleted
			}
			return true
		}
	}
	return false
}

// batch returns the batch of a chat, and assigns its group the first time.
func (im *Importer) batch(ctx context.Context, format string, chat Chat) (*batch, error) {
	key := chatKey{format, chat.ID}
	if b := im.chats[key]; b != nil {
		if b.Name == "" {
			b.Name = chat.Name
		}
		return b, nil
	}
	group, err := im.opts.Group(ctx, format, chat)
	if err != nil {
		return nil, err
	}
	b := &batch{ChatResult: ChatResult{GroupID: group, Chat: chat.ID, Name: chat.Name,
		Counts: Counts{Filtered: map[reverie.Filter]int{}}}}
	im.chats[key], im.list = b, append(im.list, b)
	return b, nil
}

// Skip counts a bad record; with Strict it returns an error.
func (im *Importer) Skip(bad *Bad) error {
	im.total.Bad++
	why := bad.Reason
	if im.total.BadBy[why] == 0 && len(im.total.BadBy) >= badReasons {
		why = otherBad
	}
	im.total.BadBy[why]++
	if im.opts.OnBad != nil {
		im.opts.OnBad(bad)
	}
	if im.opts.Strict {
		return bad
	}
	return nil
}

// Flush stores everything that is held.
func (im *Importer) Flush(ctx context.Context) error {
	for _, b := range im.list {
		if err := im.flush(ctx, b); err != nil {
			return err
		}
	}
	im.told()
	return nil
}

func (im *Importer) flush(ctx context.Context, b *batch) error {
	if len(b.messages) > 0 {
		res, err := im.store.ImportMessages(ctx, b.GroupID, b.messages)
		if err != nil {
			return fmt.Errorf("store %d messages of group %q: %w", len(b.messages), b.GroupID, err)
		}
		b.Add(Counts{New: res.New, Known: res.Known, Changed: res.Changed, Erased: res.Erased})
		for _, m := range b.messages {
			im.bytes -= len(m.Text)
		}
		im.held -= len(b.messages)
		b.messages = nil // otherwise its texts would stay in memory during the import
		for _, c := range res.Changes {
			im.held, im.bytes = im.held+1, im.bytes+size(c)
		}
		b.changes = append(res.Changes, b.changes...) // the later change has priority
	}
	for len(b.changes) > 0 {
		part := b.changes[:min(len(b.changes), batchSize)]
		res, err := im.store.ChangeMessages(ctx, b.GroupID, part)
		if err != nil {
			return fmt.Errorf("store %d changes of messages of group %q: %w", len(part), b.GroupID, err)
		}
		b.Add(Counts{ChangeResult: res})
		for _, c := range part {
			im.bytes -= size(c)
		}
		im.held -= len(part)
		b.changes = b.changes[len(part):]
	}
	im.told()
	return nil
}

func size(c reverie.MessageChange) int {
	if c.Text == nil {
		return 0
	}
	return len(*c.Text)
}

// Stored reports whether nothing is held.
func (im *Importer) Stored() bool { return im.held == 0 }

func (im *Importer) told() {
	if im.opts.OnRead != nil {
		im.opts.OnRead()
	}
}

// Result returns the result so far.
func (im *Importer) Result() Result {
	res := im.total
	res.Counts = Counts{Records: im.total.Bad, Filtered: map[reverie.Filter]int{}}
	res.Groups = make([]*ChatResult, len(im.list))
	for i, b := range im.list {
		res.Counts.Add(b.Counts)
		res.Groups[i] = &b.ChatResult
	}
	return res
}

// GroupOf returns the default group of a chat: its id consists of the format's name and the chat's id. The error is
// reverie.ErrInvalid if the chat has no id.
func GroupOf(format string, chat Chat) (reverie.Group, error) {
	if chat.ID == "" {
		return reverie.Group{}, fmt.Errorf("a chat of format %s does not say which one it is: %w", format, reverie.ErrInvalid)
	}
	id := format + "-" + chat.ID
	if len(id) > reverie.MaxGroupIDLength || !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) {
		sum := sha256.Sum256([]byte(chat.ID))
		id = format + "-" + hex.EncodeToString(sum[:16])
	}
	name := strings.Join(strings.FieldsFunc(clean(chat.Name), unicode.IsControl), " ")
	g := reverie.Group{ID: id, Name: export.Shortened(name)}
	if chat.Private {
		g.Private = "on"
	}
	return g, nil
}

// clean makes a foreign text storable.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

// Filters say which messages no model sees, and who is the group's assistant.
type Filters struct {
	Commands   []string // prefixes of commands to a bot
	Bots       Bots
	Assistants []string // ids or names
}

// Bots says how messages of programs are treated.
type Bots string

// The treatments. "" means filter.
const (
	BotsFilter    Bots = "filter"
	BotsAssistant Bots = "assistant" // their messages are context, never evidence
	BotsUser      Bots = "user"
)

// Apply sets the filter of the record's message, and the role if a program wrote it. An empty text in JSON Lines is
// a turn of a dialogue: it counts in its session, and evolve filters it.
func (f Filters) Apply(r *Record) {
	m := &r.Message
	own := slices.Contains(f.Assistants, m.AuthorID) || slices.Contains(f.Assistants, m.Author)
	if m.Role != reverie.RoleTool && (own || r.Bot && f.Bots == BotsAssistant) {
		m.Role = reverie.RoleAssistant
	}
	switch {
	case r.Event:
		m.Filter = reverie.FilterEvent
	case m.Role == reverie.RoleTool: // tool calls are counted
	case strings.TrimSpace(m.Text) == "" && r.Chat.ID != "":
		m.Filter = reverie.FilterEmpty
	case r.Bot && !own && f.Bots != BotsAssistant && f.Bots != BotsUser:
		m.Filter = reverie.FilterBot
	case m.Role != reverie.RoleAssistant && f.Command(m.Text):
		m.Filter = reverie.FilterCommand
	}
}

// Command reports whether a text begins with a prefix and a word that ends like a command: a path such as
// /etc/hosts is not one.
func (f Filters) Command(text string) bool {
	text = strings.TrimSpace(text)
	for _, prefix := range f.Commands {
		rest, ok := strings.CutPrefix(text, prefix)
		if first, _ := utf8.DecodeRuneInString(rest); prefix == "" || !ok || !unicode.IsLetter(first) {
			continue
		}
		end := strings.IndexFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || r == '/' })
		if end < 0 || rest[end] != '/' {
			return true
		}
	}
	return false
}

// patient reads a slow source, and stores what was read meanwhile: no message is held longer than the importer's
// pause. It is for one source. The importer must read all available data before it asks for more.
type patient struct {
	ctx  context.Context
	from io.Reader
	im   *Importer
	due  time.Time // when held messages must be stored; zero if nothing is held
}

type readResult struct {
	n   int
	err error
}

// Read always waits for the underlying read that it started, so that nothing writes into p later or reads a closed
// source.
func (p *patient) Read(into []byte) (int, error) {
	if p.im.held == 0 {
		p.due = time.Time{}
		return p.from.Read(into)
	}
	if p.due.IsZero() {
		p.due = time.Now().Add(p.im.opts.Pause)
	}
	got := make(chan readResult, 1)
	go func() {
		n, err := p.from.Read(into)
		got <- readResult{n, err}
	}()
	timer := time.NewTimer(time.Until(p.due))
	defer timer.Stop()
	select {
	case r := <-got:
		return r.n, r.err
	case <-timer.C:
	}
	p.due = time.Time{}
	err := p.im.Flush(p.ctx)
	r := <-got
	if err != nil {
		return 0, err
	}
	return r.n, r.err
}
