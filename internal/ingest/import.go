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

// Store takes messages, idempotent on their id.
type Store interface {
	ImportMessages(ctx context.Context, groupID string, messages []reverie.Message) (reverie.ImportResult, error)
}

// Changer is a [Store] that takes what becomes of messages later, too.
type Changer interface {
	ChangeMessages(ctx context.Context, groupID string, changes []reverie.MessageChange) (reverie.ChangeResult, error)
}

// Options of an import.
type Options struct {
	Filters
	// Group returns the group that a chat goes into; it is asked once for each chat.
	Group  func(ctx context.Context, format string, chat Chat) (groupID string, err error)
	Strict bool       // stop at the first bad record
	OnBad  func(*Bad) // told of each bad record; may be nil
	OnRead func()     // told now and then that something was read; may be nil
	// Pause is how long a message is held at most while its source has no more to read;
	// 0 is until there are enough of them.
	Pause time.Duration
	Now   func() time.Time // nil is time.Now
}

// Counts are those of records that were read.
type Counts struct {
	Records  int                    `json:"records"`
	New      int                    `json:"new"`
	Known    int                    `json:"known"`             // the id was stored before; left as it was
	Changed  int                    `json:"changed,omitempty"` // of these: the text is another one now
	SameID   int                    `json:"same_id,omitempty"` // had the id of another message, and got one of their own
	Erased   int                    `json:"erased,omitempty"`  // had been erased, and did not come in again
	Long     int                    `json:"long,omitempty"`    // of which models will read the beginning
	Filtered map[reverie.Filter]int `json:"filtered"`          // of the new and the known ones
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

// Add adds those of other records.
func (c *Counts) Add(o Counts) {
	c.Records, c.New, c.Known, c.Erased = c.Records+o.Records, c.New+o.New, c.Known+o.Known, c.Erased+o.Erased
	c.Changed, c.SameID, c.Long = c.Changed+o.Changed, c.SameID+o.SameID, c.Long+o.Long
	c.ChangeResult.Add(o.ChangeResult)
	for f, n := range o.Filtered {
		c.Filtered[f] += n
	}
}

// ChatResult is what came of a chat.
type ChatResult struct {
	GroupID string `json:"group_id"`
	Chat    string `json:"chat_id,omitempty"`
	Name    string `json:"name,omitempty"`
	Counts
	First time.Time `json:"first,omitzero"` // when its earliest message was sent, and its latest
	Last  time.Time `json:"last,omitzero"`
}

// Result is what came of an import: Records are those that were stored or known, and the
// bad ones.
type Result struct {
	Counts
	Bad    int            `json:"bad"`
	BadBy  map[string]int `json:"bad_by_reason"`
	Groups []*ChatResult  `json:"groups"` // a chat each, in order of appearance
}

const (
	batchSize  = 1000
	batchBytes = 8 << 20   // of text, from which everything is stored however few messages there are
	batchHeld  = 10_000    // messages of all chats, likewise
	badReasons = 100       // different ones that are counted; what is beyond is "other"
	otherBad   = "another" // the reason of those

	// maxAhead is how far a clock may be ahead of ours. A message from later than that would
	// wait for its day, and nobody would know.
	maxAhead = 24 * time.Hour
)

var (
	errAhead       = fmt.Errorf("sent_at is more than a day ahead of this clock: %w", reverie.ErrInvalid)
	errEditedAhead = fmt.Errorf("edited_at is more than a day ahead of this clock: %w", reverie.ErrInvalid)
)

// CheckEdited refuses the time of an edit that is far ahead of now: no later one would count.
func CheckEdited(at, now time.Time) error {
	if at.After(now.Add(maxAhead)) {
		return errEditedAhead
	}
	return nil
}

// Importer filters records, gives each chat its group, and stores their messages in
// batches. It holds a bounded number of them. It is for one caller at a time; the last
// call is Flush.
type Importer struct {
	store Store // nil: count only
	opts  Options
	chats map[chatKey]*batch
	list  []*batch
	held  int // messages of all batches
	bytes int // of their texts
	seen  seen
	total Result
}

type chatKey struct{ format, id string }

// batch is what of a chat is not stored yet.
type batch struct {
	ChatResult
	messages []reverie.Message
	changes  []reverie.MessageChange
}

// NewImporter returns an importer into a store. Without one, messages are counted as
// records, and neither as new nor as known.
func NewImporter(store Store, opts Options) *Importer {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Importer{store: store, opts: opts, chats: map[chatKey]*batch{},
		total: Result{Counts: Counts{Filtered: map[reverie.Filter]int{}}, BadBy: map[string]int{}}}
}

// Read imports a source. What was read before an error is stored. With Strict a bad
// record is such an error, which is a [*Bad].
func (im *Importer) Read(ctx context.Context, src Source, f Format, opts ReadOptions) error {
	if im.opts.Pause > 0 && src.Reader != nil && im.store != nil {
		src.Reader = &patient{ctx: ctx, from: src.Reader, im: im}
	}
	for r, err := range f.Read(ctx, src, opts) {
		if err == nil {
			err = ctx.Err()
		}
		if opts.Chat != "" && r.Chat.ID != opts.Chat && r.Chat.Name != opts.Chat && err == nil {
			continue
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

// Take adds a record of a format. One that cannot be stored is a [*Bad], and is for
// [Importer.Skip].
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
	same := im.seen.apart(&m, r.Edited)
	for _, c := range []*Counts{&b.Counts, &im.total.Counts} {
		c.add(m)
		if same == otherOfID {
			c.SameID++
		}
	}
	if b.First.IsZero() || m.SentAt.Before(b.First) {
		b.First = m.SentAt
	}
	if m.SentAt.After(b.Last) {
		b.Last = m.SentAt
	}
	if im.store == nil {
		if im.total.Records%batchSize == 0 {
			im.told()
		}
		return nil
	}
	if same == oldOfID || same == editOfID && im.edit(b, m) {
		b.Known++
		im.total.Known++
		return nil
	}
	b.messages = append(b.messages, m)
	return im.hold(ctx, b, len(m.Text))
}

// takeChange takes what became of a message.
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
	if _, takes := im.store.(Changer); err != nil || !takes {
		return err
	}
	b.changes = append(b.changes, c)
	return im.hold(ctx, b, bytes)
}

// hold stores what is held where it is much, with one more of so many bytes.
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

// edit puts the newer text of a message, or that it was deleted, in the place of the older one, as long as that is not stored: then it stays.
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

// batch is that of a chat, which is given its group the first time.
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

// Skip counts a bad record; with Strict it is an error.
func (im *Importer) Skip(bad *Bad) error {
	im.total.Records++
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

// Flush stores what is held.
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
		im.count(b, Counts{New: res.New, Known: res.Known, Changed: res.Changed, Erased: res.Erased})
		for _, m := range b.messages {
			im.bytes -= len(m.Text)
		}
		im.held -= len(b.messages)
		b.messages = nil // or its texts would live as long as the import
		for _, c := range res.Changes {
			im.held, im.bytes = im.held+1, im.bytes+size(c)
		}
		b.changes = append(res.Changes, b.changes...) // what came later counts last
	}
	changer, _ := im.store.(Changer)
	for len(b.changes) > 0 {
		part := b.changes[:min(len(b.changes), batchSize)]
		if changer != nil {
			res, err := changer.ChangeMessages(ctx, b.GroupID, part)
			if err != nil {
				return fmt.Errorf("store %d changes of messages of group %q: %w", len(part), b.GroupID, err)
			}
			im.count(b, Counts{ChangeResult: res})
		}
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

func (im *Importer) count(b *batch, c Counts) {
	b.Counts.Add(c)
	im.total.Counts.Add(c)
}

// Stored tells whether nothing is held any more.
func (im *Importer) Stored() bool { return im.held == 0 }

func (im *Importer) told() {
	if im.opts.OnRead != nil {
		im.opts.OnRead()
	}
}

// Result is what has come of the import so far.
func (im *Importer) Result() Result {
	res := im.total
	res.Groups = make([]*ChatResult, len(im.list))
	for i, b := range im.list {
		res.Groups[i] = &b.ChatResult
	}
	return res
}

// GroupOf returns the group that a chat of an export becomes by itself, with an id of the
// format's name and the chat's. The error is reverie.ErrInvalid where the chat has none.
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

// clean makes a text of other people's making one that can be stored.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

// Filters say what of a chat no model sees, and who in it is the group's assistant.
type Filters struct {
	Commands   []string // what a command to a bot begins with
	Bots       Bots
	Assistants []string // ids or names
}

// Bots says what programs are that write in a chat.
type Bots string

// What programs may be. "" filters them.
const (
	BotsFilter    Bots = "filter"
	BotsAssistant Bots = "assistant" // their words are context, and never evidence
	BotsUser      Bots = "user"
)

// Apply gives the record's message its filter, and its role where a program wrote it. An
// empty text of no chat, as JSON Lines have it, is a turn of a dialogue that somebody
// hands over as it was: it counts in its session, and evolve is what filters it.
func (f Filters) Apply(r *Record) {
	m := &r.Message
	own := slices.Contains(f.Assistants, m.AuthorID) || slices.Contains(f.Assistants, m.Author)
	if m.Role != reverie.RoleTool && (own || r.Bot && f.Bots == BotsAssistant) {
		m.Role = reverie.RoleAssistant
	}
	switch {
	case r.Event:
		m.Filter = reverie.FilterEvent
	case m.Role == reverie.RoleTool: // that there was one counts
	case strings.TrimSpace(m.Text) == "" && r.Chat.ID != "":
		m.Filter = reverie.FilterEmpty
	case r.Bot && !own && f.Bots != BotsAssistant && f.Bots != BotsUser:
		m.Filter = reverie.FilterBot
	case m.Role != reverie.RoleAssistant && f.Command(m.Text):
		m.Filter = reverie.FilterCommand
	}
}

// Command tells whether a text begins with a prefix and a word that ends like one: a path
// such as /etc/hosts is none.
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

// patient reads what comes slowly, and has what was read of it stored meanwhile: no message
// is held for longer than the importer's pause. It is for one source, of which the importer
// reads as much as there is before it asks for more.
type patient struct {
	ctx  context.Context
	from io.Reader
	im   *Importer
	due  time.Time // when what is held is to be stored; zero where nothing was held
}

type readResult struct {
	n   int
	err error
}

// Read never returns before the read that it has begun, so that nothing writes into p, or
// reads what is closed, behind it.
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
