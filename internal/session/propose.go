package session

import (
	"context"
	"errors"
	"fmt"

	"reverie/internal/llm/answer"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/prompts"
)

// propose asks the model about the chunk and stores the answer. A cut-off answer halves the chunk. An unusable one is
// asked for once more; then the run fails, and uses no message. A chunk that shows no message asks nothing.
func (r *run) propose(ctx context.Context, s *chunkInput) (reply, error) {
	for len(s.shown) > 0 {
		a, err := r.ask(ctx, s)
		switch {
		case errors.Is(err, pipeline.ErrCut) && len(s.shown) > 1:
			if err := r.halve(ctx, s); err != nil {
				return reply{}, err
			}
			continue
		case errors.Is(err, pipeline.ErrCut):
			err = pipeline.CutAlone(fmt.Sprintf("chunk %d of session %q of group %q", s.no, r.req.SessionID, r.req.GroupID),
				"one message")
		}
		if errors.Is(err, reverie.ErrUnusable) {
			err = fmt.Errorf("%w; its messages wait on", err)
			// The next run would ask the same question.
			err = errors.Join(err, r.saveChunk(ctx, s, reverie.ChunkFailed))
		}
		return a, err
	}
	return reply{}, nil
}

// halve leaves the later half of the chunk's turns in the buffer. The run's further chunks are no longer than the first
// half.
func (r *run) halve(ctx context.Context, s *chunkInput) error {
	middle := s.shown[len(s.shown)/2].ID
	for i, m := range s.messages {
		if m.ID == middle {
			s.cut(i)
			break
		}
	}
	r.limit = len(s.messages)
	r.Log.Info("halving the chunk", "group_id", r.req.GroupID, "session_id", r.req.SessionID, "run_id",
		r.recorder.Row.ID, "chunk", s.no, "messages", r.limit)
	if err := r.arrange(ctx, s, false); err != nil {
		return err
	}
	return r.saveChunk(ctx, s, reverie.ChunkOpen)
}

// ask asks up to twice for a usable answer.
func (r *run) ask(ctx context.Context, s *chunkInput) (a reply, err error) {
	q := r.question(r.Limits.MaxOutputTokens,
		"answer with JSON Lines alone, as described; where nothing lasts, with the summary line alone")
	q.Render = func(again []string) (prompts.Rendered, error) { return r.render(s, s.shown, again) }
	q.Use = func(_ string, read answer.Result) (why string) {
		r.recorder.LogSkipped("chunk", s.no, read.Skipped)
		if a = parse(read); !a.usable() && len(read.Swallowed()) == 0 {
			return "the answer held neither a fact nor a summary"
		}
		return ""
	}
	err = r.recorder.Ask(ctx, r.asker, q)
	return a, err
}

// question makes a question about the session, still without prompt and parser.
func (r *run) question(maxTokens int, form string) pipeline.Question {
	return pipeline.Question{About: fmt.Sprintf("session %q", r.req.SessionID), MaxTokens: maxTokens, Form: form}
}
