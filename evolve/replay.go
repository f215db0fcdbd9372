package evolve

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"reverie/internal/llm/answer"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
)

// PastChunk is one chunk of a past run, with the group as it was when the model was asked.
type PastChunk struct {
	Run    reverie.Run
	Chunk  reverie.Chunk
	State  reverie.State // Pending are the chunk's messages that still have a text
	Before reverie.Stats // counts of the run before the chunk
}

// SameQuestion reports whether the prompts of p ask the question of a past chunk in the same words. It compares the
// hash, for the model that was asked then. A chunk without a question is the same.
func (p *Pipeline) SameQuestion(past PastChunk) (bool, error) {
	_, s, err := p.pastInput(past)
	if err != nil || past.Chunk.InputSHA256 == "" {
		return err == nil && len(s.fresh) == 0, err
	}
	return s.inputSHA256(past.Run.Model) == past.Chunk.InputSHA256, nil
}

// Replayed is the plan that a replayed chunk comes to, and the prompt that it was asked by.
type Replayed struct {
	reverie.Plan
	PromptVersion, PromptSHA256 string
}

// Replay returns the plan that the present rules make of a past chunk. It reads the stored answer or, with ask, puts
// the question to the model of p; that call belongs to no run. It writes nothing else. The decider of p is asked about
// new statements as if the run went on. An answer that cannot be used is [reverie.ErrUnusable]; other errors are those
// of the model.
func (p *Pipeline) Replay(ctx context.Context, past PastChunk, ask bool) (Replayed, error) {
	r, s, err := p.pastInput(past)
	if err != nil {
		return Replayed{}, err
	}
	a := reply{text: past.Chunk.Answer, Result: answer.ReadTo(s.prompt.System, past.Chunk.Answer)}
	if ask {
		if a, err = r.askAgain(ctx, s); err != nil {
			return Replayed{}, err
		}
	}
	r.recorder.Row.ID = past.Run.ID // versions of the run itself do not count as rewritten
	plan, err := r.decide(ctx, s, a.check(s))
	return Replayed{plan, s.prompt.Version, s.prompt.SHA256}, err
}

// askAgain asks about a chunk without halving it.
func (r *run) askAgain(ctx context.Context, s *chunkInput) (reply, error) {
	if len(s.fresh) == 0 {
		return reply{}, nil
	}
	a, err := r.ask(ctx, s)
	if errors.Is(err, pipeline.ErrCut) {
		err = fmt.Errorf("chunk %d: %w: %w", s.no, err, reverie.ErrUnusable)
	}
	return a, err
}

// pastInput rebuilds the input of a chunk as the model saw it.
func (p *Pipeline) pastInput(past PastChunk) (*run, *chunkInput, error) {
	row := past.Run
	r := p.newRun(nil, reverie.Run{GroupID: row.GroupID, Stats: past.Before})
	r.now, r.since, r.until, r.untilGiven = row.StartedAt, row.WindowSince, row.WindowUntil, !row.Stats.OpenEnded
	s := &chunkInput{no: past.Chunk.No, state: past.State}
	s.state.Pending = r.Privacy.Messages(s.state.Pending)
	s.state.Context = r.Privacy.Messages(s.state.Context)
	if len(s.state.Pending) == 0 {
		return r, s, nil
	}
	if err := r.setBounds(s); err != nil {
		return nil, nil, err
	}
	s.setLanguage()
	if err := s.showAgain(past.Chunk.MemoryIDs, r.Limits.MaxShown); err != nil {
		return nil, nil, err
	}
	if _, err := r.fit(s, true); err != nil {
		return nil, nil, err
	}
	_, err := r.restoreQuestion(s, row.Model, past.Chunk.InputSHA256)
	return r, s, err
}

// showAgain shows the memories that the chunk showed, by their version ids. For a chunk without such ids it shows all
// memories of that time.
func (s *chunkInput) showAgain(ids []string, limit int) error {
	all := slices.Concat(s.state.Heads, s.state.Again)
	if len(ids) == 0 {
		again, others := s.toJudge(limit)
		if s.shown, s.judging = append(again, others...), len(again); len(s.shown) > limit {
			return fmt.Errorf("the record does not say which memories chunk %d was shown: %w", s.no, reverie.ErrUnusable)
		}
		return nil
	}
	for _, id := range ids {
		if i := slices.IndexFunc(all, func(h reverie.HeadState) bool { return h.ID == id }); i >= 0 {
			s.shown = append(s.shown, all[i])
		}
	}
	for s.judging < len(s.shown) && s.shown[s.judging].JudgeAgain != "" {
		s.judging++
	}
	return nil
}
