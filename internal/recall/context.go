package recall

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// ContextStore is what contexts are made from.
type ContextStore interface {
	Store
	RecallState(ctx context.Context, q reverie.RecallQuery) (reverie.RecallState, error)
	EntitiesByID(ctx context.Context, groupID string, ids []string) ([]reverie.Entity, error)
	// EntitiesAt is EntitiesByID as of an instant.
	EntitiesAt(ctx context.Context, groupID string, ids []string, at time.Time) ([]reverie.Entity, error)
}

// Options are how contexts are made.
type Options struct {
	FirstRoundEmpty   bool    // nothing at all before the first answer of the session that is named
	MinQueryLength    int     // characters, see QueryLength; below it no memories are looked up
	Trigger           Trigger // of the memories
	Keywords          []string
	SemanticThreshold float64 // similarity that some memory must reach, 0..1
	MinSimilarity     float64 // of a memory, 0..1
	HalfLife          time.Duration
	Kinds             []reverie.Kind // empty = all
	ShortTermCount    int            // turns given word for word
	MaxReturn         int            // memories
	MaxEntities       int
	Messages          int           // earlier ones that are quoted; 0 = none
	MaxTokens         int           // of the text
	ShortTermTTL      time.Duration // a session that is silent for longer has no short-term memory; 0 = for ever
}

// Recaller makes contexts. It is safe for concurrent use.
type Recaller struct {
	Store    ContextStore
	Searcher *Searcher
	Privacy  safety.Privacy // of what is quoted
	Usage    *UsageLog      // nil: what is offered is not logged
	Options  Options
	Now      func() time.Time
	Log      *slog.Logger
}

// ContextRequest asks for what a bot should have before it for its next turn.
type ContextRequest struct {
	GroupID   string
	SessionID string // "" = none: no short-term memory
	Query     string // what it is asked
	MaxTokens int    // of the text; 0 = as the options say
	// At asks for the context of an instant: what was remembered and said by then, with
	// ages counted from it. Zero is now, and so is what is still to come.
	At       time.Time
	Recorded bool // what was remembered then goes by when it was written, and not by the chat
}

// instant is when the context is of.
func (req ContextRequest) instant(now time.Time) time.Time {
	if req.At.IsZero() || req.At.After(now) {
		return now
	}
	return req.At
}

// Context makes what a bot is given for its next turn: the memories that bear on
// the query, the people and things that it names, and what was said in the session.
// No generating model is asked, and without vectors memories are found by their words, with
// a warning. What is offered goes to the usage log, but for a context of an instant:
// nobody is given that for a turn.
//
// An unknown group is [reverie.ErrNotFound], a request that cannot be met
// [reverie.ErrInvalid]. A session that is not known is a new one.
func (r *Recaller) Context(ctx context.Context, req ContextRequest) (reverie.ContextReply, error) {
	now := r.Now()
	d, err := r.draft(ctx, req, req.instant(now), false)
	if err != nil {
		return reverie.ContextReply{}, err
	}
	if !req.At.IsZero() {
		return *d.reply, nil
	}
	return *d.reply, r.offer(ctx, d.reply, clean(req.Query), now)
}

// draft makes a context, of which nothing is logged yet. Where everything is asked for,
// it has those memories too that came to nothing before there was a question of room.
func (r *Recaller) draft(ctx context.Context, req ContextRequest, now time.Time, everything bool) (*draft, error) {
	if err := req.check(); err != nil {
		return nil, err
	}
	if req.MaxTokens == 0 {
		req.MaxTokens = r.Options.MaxTokens
	}
	query := clean(req.Query)
	state, err := r.state(ctx, req, query, now)
	if err != nil {
		return nil, err
	}
	reply := &reverie.ContextReply{Success: true, GroupID: req.GroupID, SessionID: req.SessionID, Query: req.Query,
		Memories: []reverie.ContextMemory{}, Entities: []reverie.ContextEntity{}, Quotes: []reverie.ContextQuote{}, MaxTokens: req.MaxTokens}
	d := &draft{reply: reply, turns: state.Messages, summary: state.Summary, words: wordsFor(state.Group, query),
		zone: zoneOf(state.Group), privacy: r.Privacy, messages: r.Options.Messages}
	if r.Options.FirstRoundEmpty && req.SessionID != "" && (state.Session == nil || state.Session.Total.Turns == 0) {
		reply.Skipped = SkippedFirstRound
		return d, nil
	}
	long, err := r.longTerm(ctx, req, state, query, everything)
	if err != nil {
		return nil, err
	}
	if d.entities, err = r.entities(ctx, req, query, state.Named); err != nil {
		return nil, err
	}
	reply.Skipped, reply.Warnings, reply.Counts.Candidates = long.skipped, long.Warnings, len(long.Hits)
	d.memories = r.judge(long, ownSummary(state), now)
	if long.skipped == "" {
		d.quotes = worthQuoting(query, state.Quotes)
	}
	d.compose()
	return d, nil
}

// check refuses what no context can be made for.
func (req ContextRequest) check() error {
	switch {
	case req.GroupID == "" || !text.Storable(req.GroupID):
		return fmt.Errorf("group %q: %w", req.GroupID, reverie.ErrNotFound)
	case !text.Storable(req.SessionID) || len(req.SessionID) > reverie.MaxMessageIDLength:
		return fmt.Errorf("session id %.40q: must have at most %d bytes of text: %w", req.SessionID,
			reverie.MaxMessageIDLength, reverie.ErrInvalid)
	case req.MaxTokens < 0:
		return fmt.Errorf("%d tokens at most: a context cannot have less than none: %w", req.MaxTokens,
			reverie.ErrInvalid)
	}
	return nil
}

// clean makes a query text that can be stored and embedded, whatever came.
func clean(query string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(query, "\uFFFD"), "\x00", "\uFFFD")
}

// state reads the group and the session.
func (r *Recaller) state(ctx context.Context, req ContextRequest, query string,
	now time.Time) (reverie.RecallState, error) {
	q := reverie.RecallQuery{GroupID: req.GroupID, SessionID: req.SessionID, Turns: r.Options.ShortTermCount,
		At: req.At}
	if r.Options.MaxEntities > 0 {
		q.Text = nameForm(query)
	}
	if r.Options.ShortTermTTL > 0 {
		q.Since = now.Add(-r.Options.ShortTermTTL)
	}
	if r.Options.Messages > 0 && r.Options.skip(query) == "" {
		q.Quotes, q.Asked, q.Until, q.Share = quotesRead*r.Options.Messages, text.Scripts(queryForm(query)), now, fairShare
	}
	state, err := r.Store.RecallState(ctx, q)
	if err != nil {
		return state, fmt.Errorf("make a context for group %q: %w", req.GroupID, err)
	}
	if r.Options.ShortTermCount == 0 {
		state.Messages, state.Summary = nil, nil
	}
	return state, nil
}

// offer puts what is offered into the usage log, but for what is a team's or a linked group's:
// that would tell there what is asked here, and so its weights stay as they are. A log that takes nothing more is
// no reason to leave a bot without its context.
func (r *Recaller) offer(ctx context.Context, reply *reverie.ContextReply, query string, now time.Time) error {
	if r.Usage == nil {
		return nil
	}
	usageID := reverie.NewID()
	var rows []reverie.Usage
	for i, m := range reply.Memories {
		if m.GroupID != reply.GroupID {
			continue
		}
		rows = append(rows, reverie.Usage{GroupID: reply.GroupID, UsageID: usageID, MemoryID: m.MemoryID,
			LineageID: m.LineageID,
			SessionID: reply.SessionID, Query: text.Excerpt(query, reverie.MaxUsageQuery), Position: i + 1,
			Score:   m.Score,
			Factors: m.Factors, Statement: m.Statement, CreatedAt: now.UTC()})
	}
	if len(rows) == 0 {
		return nil
	}
	if err := r.Usage.Add(ctx, rows); err != nil {
		if ctx.Err() != nil {
			return err
		}
		reply.Warnings = append(reply.Warnings,
			fmt.Sprintf("what is offered is not logged, and cannot be learned from: %v", err))
		return nil
	}
	reply.UsageID = usageID
	return nil
}

// maxCandidates is how many of the nearest memories are ranked.
const maxCandidates = 100

// longTerm is what was found in long-term memory.
type longTerm struct {
	Found
	refused []reverie.Hit // candidates of which none is near enough for the trigger
	skipped string        // why nothing was looked up
}

// longTerm looks memories up where the trigger says so. Where there are no more than may be
// returned, all are candidates. Archived ones are, where they bear on the query and no active one does. Its errors are those of the store: an embedder that fails is
// a warning.
func (r *Recaller) longTerm(ctx context.Context, req ContextRequest, state reverie.RecallState, query string,
	everything bool) (long longTerm, err error) {
	if why := r.Options.skip(query); why != "" {
		return longTerm{skipped: why}, nil
	}
	q := Query{GroupID: req.GroupID, Text: query, Kinds: r.Options.Kinds, Limit: maxCandidates,
		Threshold: r.Options.MinSimilarity, At: req.At, Recorded: req.Recorded,
		fewer: 1, reaching: max(reverie.RelatedScore, r.Options.MinSimilarity), team: r.Searcher.Teams.of(state.Group), linked: state.Linked}
	if everything {
		q.Limit += maxBelow
	}
	long.Found, err = r.Searcher.find(ctx, q)
	switch {
	case ctx.Err() != nil:
		return longTerm{}, fmt.Errorf("make a context for group %q: %w", req.GroupID, ctx.Err())
	case err != nil:
		return longTerm{}, err
	case long.Total <= r.Options.MaxReturn:
		long.Hits, long.Below = append(long.Hits, long.Below...), nil
	case len(long.Hits) > maxCandidates: // an explanation looks no further for candidates than a context
		long.Hits, long.Below = long.Hits[:maxCandidates], nil
	}
	long.Below = long.Below[:min(len(long.Below), maxBelow)]
	if len(long.Hits) == 0 || long.Hits[0].Score < q.reaching {
		long.Hits = nearest(long.Hits, long.archived, 0)
	}
	if r.Options.Trigger == TriggerSemantic && (len(long.Hits) == 0 || long.Hits[0].Score < r.Options.SemanticThreshold) {
		long.Hits, long.refused, long.skipped = nil, long.Hits, SkippedNotSimilar
	}
	return long, nil
}

// ownSummary is the session whose summary memory would only repeat what stands
// beside it: the rolling summary, or all of its turns. "" where there is none.
func ownSummary(state reverie.RecallState) string {
	if state.Session == nil || len(state.Messages) == 0 && state.Summary == nil {
		return ""
	}
	if state.Summary == nil && answered(state.Messages) < state.Session.Total.Turns {
		return "" // turns before those that are given, which only the memory tells of
	}
	return state.Session.ID
}

// answered counts the turns that end in an answer.
func answered(messages []reverie.Message) int {
	turns, asking := 0, false
	for _, m := range messages {
		switch {
		case m.Role == reverie.RoleUser:
			asking = true
		case m.Role == reverie.RoleAssistant && asking:
			turns, asking = turns+1, false
		}
	}
	return turns
}

// isSummary tells the summary memory of a session.
func isSummary(h reverie.Hit, sessionID string) bool {
	return sessionID != "" && h.Kind == reverie.KindSession && h.SessionID == sessionID &&
		slices.Contains(h.Tags, reverie.TagSummary)
}

// What becomes of a memory that was looked at for a context.
const (
	FateOffered      = "offered"
	FateRepeats      = "repeats"       // a better one says the same
	FateOwnSummary   = "own_summary"   // it sums up the session whose messages stand beside it
	FateBeyondCount  = "beyond_count"  // max_return are better
	FateBeyondTokens = "beyond_tokens" // max_tokens leaves no room for it
	FateNotSimilar   = "not_similar"   // no memory reaches semantic_threshold, and none is offered
	FateBelow        = "below"         // it does not reach min_similarity
)

// maxBelow is how many memories an explanation tells of that are not near enough to
// be candidates.
const maxBelow = 50

// Explain makes the context that [Recaller.Context] would, and tells of every memory
// that was looked at what it scored and what became of it. It logs no use.
func (r *Recaller) Explain(ctx context.Context, req ContextRequest) (reverie.Recalled, error) {
	d, err := r.draft(ctx, req, req.instant(r.Now()), true)
	if err != nil {
		return reverie.Recalled{}, err
	}
	return reverie.Recalled{ContextReply: *d.reply, Trigger: string(r.Options.Trigger),
		MinSimilarity: r.Options.MinSimilarity,
		Candidates:    append([]reverie.RecallCandidate{}, d.memories...)}, nil
}

// judge ranks what was found. Without a fate, and so to be offered if there is room, are
// the best ones, each statement once, as many as may be returned; the others follow.
func (r *Recaller) judge(long longTerm, ownSummary string, now time.Time) []reverie.RecallCandidate {
	kept := make([]reverie.Hit, 0, len(long.Hits))
	var aside []reverie.RecallCandidate
	put := func(h reverie.Hit, fate string) {
		c := candidate(h, now, r.Options.HalfLife)
		c.Fate = fate
		aside = append(aside, c)
	}
	for _, h := range long.Hits {
		if isSummary(h, ownSummary) {
			put(h, FateOwnSummary)
			continue
		}
		kept = append(kept, h)
	}
	for _, h := range long.refused {
		put(h, FateNotSimilar)
	}
	list, room := rank(kept, now, r.Options.HalfLife), r.Options.MaxReturn
	for i := range list {
		if list[i].Fate != "" {
			continue
		}
		if room--; room < 0 {
			list[i].Fate = FateBeyondCount
		}
	}
	list = append(list, aside...)
	byWorth(list)
	aside = nil
	for _, h := range long.Below {
		put(h, FateBelow)
	}
	return append(list, aside...)
}
