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

// ContextStore reads the data of a context.
type ContextStore interface {
	Store
	RecallState(ctx context.Context, q reverie.RecallQuery) (reverie.RecallState, error)
	EntitiesByID(ctx context.Context, groupID string, ids []string) ([]reverie.Entity, error)
	// EntitiesAt is EntitiesByID as of an instant.
	EntitiesAt(ctx context.Context, groupID string, ids []string, at time.Time) ([]reverie.Entity, error)
}

// Options configure contexts.
type Options struct {
	FirstRoundEmpty   bool    // empty before the first answer of the named session
	MinQueryLength    int     // characters, see QueryLength; shorter queries find no memories
	Trigger           Trigger // of the memories
	Keywords          []string
	SemanticThreshold float64 // minimum similarity of the best memory, 0..1; otherwise none is offered
	MinSimilarity     float64 // minimum similarity of each memory, 0..1
	HalfLife          time.Duration
	Kinds             []reverie.Kind // empty = all
	ShortTermCount    int            // number of verbatim turns
	MaxReturn         int            // memories
	MaxEntities       int
	Messages          int           // maximum number of quoted earlier messages; 0 = none
	MaxTokens         int           // of the text
	ShortTermTTL      time.Duration // a longer silent session has no short-term memory; 0 = unlimited
}

// Recaller makes contexts. It is safe for concurrent use.
type Recaller struct {
	Store    ContextStore
	Searcher *Searcher
	Privacy  safety.Privacy // for quoted texts
	Usage    *UsageLog      // nil: offered memories are not logged
	Options  Options
	Now      func() time.Time
	Log      *slog.Logger
}

// ContextRequest asks for the context of a bot's next turn.
type ContextRequest struct {
	GroupID   string
	SessionID string // "" = none: no short-term memory
	Query     string // the bot's input
	MaxTokens int    // of the text; 0 = as configured
	// At asks for the context as of an instant: memories and messages of that time, with ages relative to it. Zero or
	// the future means now.
	At       time.Time
	Recorded bool // At is in the time of writing, not in the chat's time
}

// instant returns the time of the context.
func (req ContextRequest) instant(now time.Time) time.Time {
	if req.At.IsZero() || req.At.After(now) {
		return now
	}
	return req.At
}

// Context makes the context of a bot's next turn: relevant memories, entities that the query names, and the
// session's messages. It calls no generating model. Without vectors, it finds memories by their words and adds a
// warning. Offered memories go to the usage log, except for a context as of an instant, which serves no turn.
//
// An unknown group is [reverie.ErrNotFound], an impossible request [reverie.ErrInvalid]. An unknown session counts
// as a new one.
func (r *Recaller) Context(ctx context.Context, req ContextRequest) (reverie.ContextReply, error) {
	now := r.Now()
	d, err := r.draft(ctx, req, req.instant(now), false)
	if err != nil {
		return reverie.ContextReply{}, err
	}
	if req.At.IsZero() {
		r.offer(d.reply, clean(req.Query), now)
	}
	return *d.reply, nil
}

// draft makes a context without logging anything. With everything, it also contains the memories that were rejected
// before the token budget is applied.
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

// check refuses a request for which no context can be made.
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

// clean turns any query into a text that can be stored and embedded.
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

// offer logs the offered memories. It skips those of a team or a linked group: their usage log would reveal there
// what is asked here, so their weights stay unchanged. If the log fails, the bot still gets its context.
func (r *Recaller) offer(reply *reverie.ContextReply, query string, now time.Time) {
	if r.Usage == nil {
		return
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
		return
	}
	if err := r.Usage.Add(rows); err != nil {
		reply.Warnings = append(reply.Warnings,
			fmt.Sprintf("what is offered is not logged, and cannot be learned from: %v", err))
		return
	}
	reply.UsageID = usageID
}

// maxCandidates is the number of nearest memories that are ranked.
const maxCandidates = 100

// longTerm is the result of searching long-term memory.
type longTerm struct {
	Found
	refused []reverie.Hit // candidates, if none is similar enough for the trigger
	skipped string        // why nothing was searched
}

// longTerm searches memories if the trigger allows it. If there are no more than may be returned, all are
// candidates. Archived ones are candidates if they are relevant and no active one is. It returns only errors of the
// store: a failed embedder is a warning.
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
	case len(long.Hits) > maxCandidates: // an explanation considers no more candidates than a context
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

// ownSummary returns the session whose summary memory would only repeat the rest of the context: the rolling
// summary, or all of its turns. "" if there is none.
func ownSummary(state reverie.RecallState) string {
	if state.Session == nil || len(state.Messages) == 0 && state.Summary == nil {
		return ""
	}
	if state.Summary == nil && answered(state.Messages) < state.Session.Total.Turns {
		return "" // only the memory covers the turns before the given ones
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

// isSummary reports whether a hit is the summary memory of a session.
func isSummary(h reverie.Hit, sessionID string) bool {
	return sessionID != "" && h.Kind == reverie.KindSession && h.SessionID == sessionID &&
		slices.Contains(h.Tags, reverie.TagSummary)
}

// The outcomes of a memory that was considered for a context.
const (
	FateOffered      = "offered"
	FateRepeats      = "repeats"       // a better memory says the same
	FateOwnSummary   = "own_summary"   // it sums up the session whose messages are in the context
	FateBeyondCount  = "beyond_count"  // max_return others are better
	FateBeyondTokens = "beyond_tokens" // it exceeds max_tokens
	FateNotSimilar   = "not_similar"   // no memory reaches semantic_threshold, so none is offered
	FateBelow        = "below"         // it does not reach min_similarity
)

// maxBelow is the maximum number of memories below the minimum similarity in an explanation.
const maxBelow = 50

// Explain makes the same context as [Recaller.Context], and returns score and outcome of every memory considered.
// It logs no use.
func (r *Recaller) Explain(ctx context.Context, req ContextRequest) (reverie.Recalled, error) {
	d, err := r.draft(ctx, req, req.instant(r.Now()), true)
	if err != nil {
		return reverie.Recalled{}, err
	}
	return reverie.Recalled{ContextReply: *d.reply, Trigger: string(r.Options.Trigger),
		MinSimilarity: r.Options.MinSimilarity,
		Candidates:    append([]reverie.RecallCandidate{}, d.memories...)}, nil
}

// judge ranks the memories found. The best come first, each statement once, as many as may be returned; they have
// no fate yet and are offered if the budget allows. The others follow with their fate.
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
