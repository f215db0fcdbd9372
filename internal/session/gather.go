package session

import (
	"context"
	"fmt"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/prompts"
)

// chunkInput is one chunk as the model sees it, and what is needed to read the answer:
// facts are m1..mN, messages that are shown are numbered from 1.
type chunkInput struct {
	no       int
	taken    bool // up from a run that did not apply it: others may have arrived since
	state    reverie.SessionState
	messages []reverie.Message // taken by this chunk
	shown    []reverie.Message // of them
	more     bool              // further turns wait behind them
	facts    []reverie.HeadState

	locale
	compared int // questions that the run has asked to compare facts, this chunk's included
}

// locale is where a question is asked.
type locale struct {
	loc      *time.Location
	language string
}

// localeOf is that of messages of a group.
func localeOf(group reverie.Group, messages []reverie.Message) (locale, error) {
	loc, err := group.Location()
	if err != nil {
		return locale{}, fmt.Errorf("%w: %w", reverie.ErrConfiguration, err)
	}
	return locale{loc, prompts.Language(group.Language, texts(shownOf(messages)))}, nil
}

// gather reads the session's buffer, chooses the turns to take and what to show
// beside them, and saves the chunk before anything is asked about it: whoever
// continues the run asks the same question. It returns nil when nothing is to be
// extracted.
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
	if err := r.arrange(ctx, s, s.taken); err != nil {
		return nil, err
	}
	return s, r.saveChunk(ctx, s, reverie.ChunkOpen)
}

// read fetches the messages of a chunk that was begun and not applied, else the
// oldest ones of the buffer, and cuts them after their last complete turn.
func (r *run) read(ctx context.Context) (*chunkInput, error) {
	q := reverie.SessionQuery{GroupID: r.req.GroupID, SessionID: r.req.SessionID, Limit: r.Limits.MaxMessages}
	if r.limit > 0 {
		q.Limit = r.limit
	}
	s := &chunkInput{}
	if c := r.resume; c != nil {
		r.resume = nil
		q.MessageIDs, s.taken = c.MessageIDs, true
	}
	var err error
	s.state, err = r.Store.GatherSession(ctx, q)
	if err == nil && s.taken && len(s.state.Messages) != len(q.MessageIDs) { // some are used, or gone
		q.MessageIDs, s.taken = nil, false
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
		if r.req.Due && !r.Rule.Tries(s.state.Session, r.now) { // it is here for a fold alone
			s.taken, s.state.Messages = false, nil
		}
	}
	if s.messages = s.state.Messages; !s.taken {
		if err := r.take(s); err != nil {
			return nil, err
		}
	}
	r.waits = s.state.Session.New.Messages - len(s.messages)
	if len(s.messages) == 0 {
		return nil, nil
	}
	return s, nil
}

// take leaves the input the messages that may be extracted: none where the session
// is to be due and is not; else complete turns. What nobody has answered yet is
// taken besides when nothing was answered at all when the run began, or the session
// has been silent for so long that no answer is to come.
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

// arrange chooses language and facts for the messages on the input. Where not all of
// it fits, the later turns are left for another chunk and it is arranged anew: the
// question then depends on nothing but the chunk's own messages, so that it is the
// same, and its answer still good, when an interrupted chunk is taken up. The
// messages of a settled chunk are not cut.
func (r *run) arrange(ctx context.Context, s *chunkInput, settled bool) error {
	for {
		s.shown = shownOf(s.messages)
		s.language = prompts.Language(s.state.Group.Language, texts(s.shown))
		var err error
		if s.facts, err = r.known(ctx, s); err != nil {
			return err
		}
		empty, err := r.render(s, nil, nil)
		if err != nil {
			return err
		}
		v := views{loc: s.loc}
		room := r.Limits.MaxInputTokens - text.EstimateTokens(empty.System) - text.EstimateTokens(empty.User)
		n := v.fitting(s.messages, room)
		if settled || n == len(s.messages) {
			return nil
		}
		s.cut(n)
	}
}

// cut leaves message n and what follows for another chunk: whole turns, unless one
// is too long by itself.
func (s *chunkInput) cut(n int) {
	s.messages, s.more = s.messages[:outlineOf(s.messages, false).cutBefore(n)], true
}

// render fills the prompt with the input and the messages given. again says what
// was wrong with the first answer.
func (r *run) render(s *chunkInput, messages []reverie.Message, again []string) (prompts.Rendered, error) {
	v := views{loc: s.loc}
	user := prompts.ExtractUser{Summary: s.summary(), KnownFacts: []prompts.KnownFact{}, Turns: v.messages(messages),
		Again: again}
	for i, h := range s.facts {
		user.KnownFacts = append(user.KnownFacts, v.fact(i+1, h))
	}
	return r.Prompts.Extract(s.language, prompts.ExtractSystem{MaxStatement: reverie.MaxStatement,
		MaxFacts: r.Limits.MaxFacts}, user)
}

// summary is what the session's summary memory says so far.
func (s *chunkInput) summary() string {
	if s.state.Summary == nil {
		return ""
	}
	return strings.TrimSpace(s.state.Summary.Statement)
}

func (r *run) saveChunk(ctx context.Context, s *chunkInput, status reverie.ChunkStatus) error {
	return r.recorder.Save(ctx, reverie.Chunk{No: s.no, MessageIDs: s.ids(), Status: status, Limit: r.limit})
}

// ids are the messages of the chunk.
func (s *chunkInput) ids() []string {
	ids := make([]string, len(s.messages))
	for i, m := range s.messages {
		ids[i] = m.ID
	}
	return ids
}
