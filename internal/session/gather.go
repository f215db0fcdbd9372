package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"reverie/internal/llm"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/prompts"
)

// chunkInput is one chunk as the model sees it, and what the parser of the answer needs. Facts are m1..mN; shown
// messages are numbered from 1.
type chunkInput struct {
	no       int
	resumed  bool // resumed from a run that did not apply it; more messages may have arrived
	state    reverie.SessionState
	messages []reverie.Message // taken by this chunk
	shown    []reverie.Message // those of them that the model sees
	more     bool              // the buffer has further turns
	facts    []reverie.HeadState

	locale
	compared int // comparisons of facts that the run has asked for, with those of this chunk
}

// locale is the language and the time zone of a question.
type locale struct {
	loc      *time.Location
	language string
}

// localeOf returns the locale for messages of a group.
func localeOf(group reverie.Group, messages []reverie.Message) (locale, error) {
	loc, err := group.Location()
	if err != nil {
		return locale{}, fmt.Errorf("%w: %w", reverie.ErrConfiguration, err)
	}
	return locale{loc, prompts.Language(group.Language, pipeline.Texts(pipeline.Shown(messages)))}, nil
}

// gather reads the session's buffer, chooses the turns to extract and what to show beside them, and saves the chunk
// before the model is asked. So whoever resumes the run asks the same question. It returns nil when there is nothing to
// extract.
func (r *run) gather(ctx context.Context) (*chunkInput, error) {
	s, err := r.read(ctx)
	if err != nil || s == nil {
		return nil, err
	}
	if s.locale, err = localeOf(s.state.Group, s.messages); err != nil {
		return nil, err
	}
	s.no = r.recorder.Stats.Chunks + 1
	if err := r.open(ctx, s.state.Session, s.messages[0].SentAt, r.Model, prompts.SessionExtract,
		s.language); err != nil {
		return nil, err
	}
	if err := r.arrange(ctx, s, s.resumed); err != nil {
		return nil, err
	}
	return s, r.saveChunk(ctx, s, reverie.ChunkOpen)
}

// read fetches the messages of an interrupted chunk, else the oldest ones of the buffer. It cuts them after their last
// complete turn.
func (r *run) read(ctx context.Context) (*chunkInput, error) {
	q := reverie.SessionQuery{GroupID: r.req.GroupID, SessionID: r.req.SessionID, Limit: r.Limits.MaxMessages, Summaries: r.Limits.MaxActive}
	if r.limit > 0 {
		q.Limit = r.limit
	}
	s := &chunkInput{}
	if c := r.resume; c != nil {
		r.resume = nil
		q.MessageIDs, s.resumed = c.MessageIDs, true
	}
	var err error
	s.state, err = r.Store.GatherSession(ctx, q)
	if err == nil && s.resumed && len(s.state.Messages) != len(q.MessageIDs) { // some are used, or deleted
		q.MessageIDs, s.resumed = nil, false
		s.state, err = r.Store.GatherSession(ctx, q)
	}
	if err != nil {
		return nil, fmt.Errorf("gather session %q of group %q: %w", r.req.SessionID, r.req.GroupID, err)
	}
	s.state.Messages = r.Privacy.Messages(s.state.Messages)
	if r.recorder.Stats.Chunks == 0 {
		r.recorder.Stats.Unanswered = s.state.Session.New.Turns == 0
	}
	if !r.recorder.Began && r.recorder.Row.ID == "" {
		r.recorder.Stats.Base, r.recorder.Stats.Kept = len(s.state.Heads), len(s.state.Heads)
		if r.req.Due && !r.Rule.Tries(s.state.Session, r.now) { // the run is only here to fold
			s.resumed, s.state.Messages = false, nil
		}
	}
	if s.messages = s.state.Messages; !s.resumed {
		if err := r.take(s); err != nil {
			return nil, err
		}
	}
	r.leftInBuffer = s.state.Session.New.Messages - len(s.messages)
	if len(s.messages) == 0 {
		return nil, nil
	}
	return s, nil
}

// take keeps the messages that may be extracted. With Request.Due there are none unless the session is due. Otherwise
// it keeps complete turns. It also keeps an unanswered turn if no turn was answered when the run began, or if the
// session has been silent too long for an answer to come.
func (r *run) take(s *chunkInput) error {
	session := s.state.Session
	if r.req.Due && r.recorder.Stats.Chunks == 0 && !r.Rule.Extract(session, r.now) {
		s.messages = nil
		return nil
	}
	silence, err := s.state.Group.Silence(r.silence())
	if err != nil {
		return fmt.Errorf("%w: %w", reverie.ErrConfiguration, err)
	}
	all := r.recorder.Stats.Unanswered || r.now.Sub(session.LastAt) > silence
	n := outlineOf(s.messages, false).open
	switch {
	case n == 0 && s.state.More && (all || session.New.Turns > 0): // a turn longer than a chunk
		n = len(s.messages)
	case all && !s.state.More:
		n = len(s.messages)
	}
	s.messages, s.more = s.messages[:n], s.state.More
	return nil
}

func (r *run) silence() time.Duration {
	if r.Silence > 0 {
		return r.Silence
	}
	return reverie.DefaultSessionSilence
}

// arrange chooses the language and the facts for the messages of the input. Where the messages do not fit, it leaves
// the later turns for another chunk and arranges the rest anew. So the question depends only on the messages of the
// chunk. When an interrupted chunk is resumed, the question is the same, and its stored answer is still valid. The
// messages of a settled chunk are not cut.
func (r *run) arrange(ctx context.Context, s *chunkInput, settled bool) error {
	for {
		s.shown = pipeline.Shown(s.messages)
		s.language = prompts.Language(s.state.Group.Language, pipeline.Texts(s.shown))
		var err error
		if s.facts, err = r.known(ctx, s); err != nil {
			return err
		}
		empty, err := r.render(s, nil, nil)
		if err != nil {
			return err
		}
		room := r.Limits.MaxInputTokens - text.EstimateTokens(empty.System) - text.EstimateTokens(empty.User)
		n := fitting(r.Prompts, s.messages, room, s.loc)
		if settled || n == len(s.messages) {
			return nil
		}
		s.cut(n)
	}
}

// cut leaves message n and all later ones for another chunk. It cuts between turns, unless a turn is too long by
// itself.
func (s *chunkInput) cut(n int) {
	s.messages, s.more = s.messages[:outlineOf(s.messages, false).cutBefore(n)], true
}

// render fills the prompt with the input and the messages. again says what was wrong with the first answer.
func (r *run) render(s *chunkInput, messages []reverie.Message, again []string) (prompts.Rendered, error) {
	user := prompts.ExtractUser{Summary: s.summary(), KnownFacts: []prompts.KnownFact{},
		Turns: r.Prompts.Messages(messages, s.loc), Again: again}
	for i, h := range s.facts {
		user.KnownFacts = append(user.KnownFacts, prompts.KnownFact{ID: "m" + strconv.Itoa(i+1), Statement: h.Statement,
			LastSupportedAt: text.LocalDate(h.LastSupportedAt, s.loc)})
	}
	return r.Prompts.Render(s.language, prompts.ExtractSystem{MaxStatement: reverie.MaxStatement,
		MaxFacts: r.Limits.MaxFacts}, user)
}

// summary returns the statement of the session's summary memory, "" if there is none.
func (s *chunkInput) summary() string {
	if s.state.Summary == nil {
		return ""
	}
	return strings.TrimSpace(s.state.Summary.Statement)
}

func (r *run) saveChunk(ctx context.Context, s *chunkInput, status reverie.ChunkStatus) error {
	return r.recorder.Save(ctx, reverie.Chunk{No: s.no, MessageIDs: pipeline.IDs(s.messages), Status: status, Limit: r.limit})
}

// known chooses the facts that the model sees: all of them, or those of this session and the nearest of the others.
// Without vectors, nearness is measured by words. The facts of this session are shown first.
func (r *run) known(ctx context.Context, s *chunkInput) ([]reverie.HeadState, error) {
	heads := s.state.Heads
	var nearness map[string]float64
	if len(heads) > r.Limits.MaxShown && r.Limits.MaxShown > 0 {
		var err error
		if nearness, err = r.nearness(ctx, s); err != nil {
			return nil, err
		}
	}
	return choose(heads, s.state.Session.ID, nearness, r.Limits.MaxShown), nil
}

// nearness returns, by memory id, how near stored facts come to any part of the chunk.
func (r *run) nearness(ctx context.Context, s *chunkInput) (map[string]float64, error) {
	q := reverie.CandidateQuery{GroupID: r.req.GroupID, Kind: reverie.KindSession, Limit: r.Limits.MaxShown,
		Untagged: reverie.TagSummary, Active: true}
	texts := pipeline.Probes(s.messages)
	for _, text := range texts {
		q.Probes = append(q.Probes, reverie.Probe{ID: reverie.NewID(), Text: text})
	}
	if r.Embeddings != nil && !r.recorder.EmbeddingsOff && len(texts) > 0 {
		vectors, err := r.Embeddings.Embed(ctx, r.recorder.Meta("embed"), texts)
		switch {
		case err == nil:
			q.Model = r.Embeddings.Key()
			for i, v := range vectors {
				q.Probes[i].Vector = v
			}
		case ctx.Err() != nil || llm.EndsRun(err):
			return nil, err
		default:
			r.recorder.EmbeddingsOff = r.EmbeddingsOptional
			r.recorder.Warn(fmt.Sprintf("facts are chosen to be shown by their words alone: %v", err))
		}
	}
	found, err := r.Store.Candidates(ctx, q)
	if err != nil {
		return nil, err
	}
	near := map[string]float64{}
	for _, list := range found {
		for _, n := range list {
			near[n.ID] = max(near[n.ID], n.Score)
		}
	}
	return near, nil
}

// choose returns at most limit facts. Those of the session come before others, the nearest before those without a
// score, and newer ones before older ones. The result is ordered by age, the session's own facts first.
func choose(heads []reverie.HeadState, sessionID string, nearness map[string]float64, limit int) []reverie.HeadState {
	own := func(a, b reverie.HeadState) int {
		if (a.SessionID == sessionID) == (b.SessionID == sessionID) {
			return 0
		} else if a.SessionID == sessionID {
			return -1
		}
		return 1
	}
	near := func(h reverie.HeadState) float64 {
		if score, ok := nearness[h.ID]; ok {
			return score
		}
		return -1 // below any score
	}
	shown := pipeline.First(heads, limit, func(a, b reverie.HeadState) int {
		return cmp.Or(own(a, b), cmp.Compare(near(b), near(a)))
	})
	slices.SortStableFunc(shown, own)
	return shown
}

// outline marks the turns in consecutive messages. A turn is what users say up to the next message of an assistant.
// Further messages before a user speaks again belong to the same turn.
type outline struct {
	n      int
	starts []int // index of the first message of each turn
	ends   []int // index of the message that answers each turn
	open   int   // start of the turn without an answer; n if there is none
}

// outlineOf divides messages into turns. asking means that a user had spoken before the first message and was not
// answered yet.
func outlineOf(messages []reverie.Message, asking bool) outline {
	o := outline{n: len(messages)}
	for i, m := range messages {
		switch m.Role {
		case reverie.RoleUser:
			if !asking {
				o.starts, o.open = append(o.starts, i), i
			}
			asking = true
		case reverie.RoleAssistant:
			if asking {
				o.ends = append(o.ends, i)
			}
			asking = false
		}
	}
	if !asking {
		o.open = o.n
	}
	return o
}

// startOf returns where the turn of message i begins, 0 if before the first message.
func (o outline) startOf(i int) int {
	start := 0
	for _, s := range o.starts {
		if s <= i {
			start = s
		}
	}
	return start
}

// cutBefore returns where to cut so that message i and all later ones are left out: before the turn, or inside a turn
// that begins the chunk.
func (o outline) cutBefore(i int) int {
	if start := o.startOf(i); start > 0 {
		return start
	}
	return i
}

// older returns how many messages come before the newest keep answered turns. A turn without an answer is kept in
// addition.
func (o outline) older(keep int) int {
	switch {
	case len(o.ends) <= keep:
		return 0
	case keep == 0:
		return o.open
	}
	return o.startOf(o.ends[len(o.ends)-keep])
}

// turns counts the turns that end among the first n messages.
func (o outline) turns(n int) (count int) {
	for _, end := range o.ends {
		if end < n {
			count++
		}
	}
	return count
}

// fitting returns how many messages fit a budget of tokens. Messages that are not shown cost nothing. The first shown
// message always fits.
func fitting(set *prompts.Set, messages []reverie.Message, budget int, loc *time.Location) int {
	shown := 0
	for i, m := range messages {
		if !m.Speaks() {
			continue
		}
		shown++
		if budget -= prompts.Tokens(set.Message(shown, 0, m, loc)); budget < 0 && shown > 1 {
			return i
		}
	}
	return len(messages)
}
