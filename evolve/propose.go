package evolve

import (
	"context"
	"errors"
	"fmt"

	"reverie/internal/llm"
	"reverie/internal/llm/answer"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/prompts"
)

// propose asks the model about the chunk and returns its answer. The answer is stored before anything is done with it.
// An answer that was stored before a crash is used again while its input is the same. After a cut-off answer propose
// discards it and halves the chunk; after an unusable one it asks once more. A chunk that shows no message asks
// nothing.
func (r *run) propose(ctx context.Context, s *chunkInput) (reply, error) {
	for {
		if len(s.fresh) == 0 {
			return reply{}, r.saveChunk(ctx, s, "", "", reverie.ChunkAnswered)
		}
		a, err := r.ask(ctx, s)
		if !errors.Is(err, pipeline.ErrCut) {
			return a, err
		}
		if len(s.fresh) == 1 {
			err = pipeline.CutAlone(fmt.Sprintf("chunk %d of group %q", s.no, r.req.GroupID), "one message")
			return reply{}, errors.Join(err, r.saveChunk(ctx, s, "", "", reverie.ChunkFailed))
		}
		if err := r.halve(ctx, s); err != nil {
			return reply{}, err
		}
	}
}

// ask asks up to twice for a usable answer.
func (r *run) ask(ctx context.Context, s *chunkInput) (a reply, err error) {
	input := s.inputSHA256(r.Model.Name())
	if r.resume != nil {
		stored := *r.resume
		r.resume = nil
		if stored.InputSHA256 != input {
			if input, err = r.restoreQuestion(s, r.Model.Name(), stored.InputSHA256); err != nil {
				return reply{}, err
			}
		}
		if stored.InputSHA256 == input {
			r.Log.Info("using the stored answer", "group_id", r.req.GroupID, "run_id", r.recorder.Row.ID, "chunk", s.no)
			return reply{text: stored.Answer, Result: answer.ReadTo(s.prompt.System, stored.Answer)},
				r.saveChunk(ctx, s, input, stored.Answer, reverie.ChunkAnswered)
		}
	}
	if err := r.saveChunk(ctx, s, input, "", reverie.ChunkOpen); err != nil {
		return reply{}, err
	}
	err = r.recorder.Ask(ctx, r.recorder.Asker(r.Model, nil, "evolve"), pipeline.Question{
		About: fmt.Sprintf("chunk %d", s.no), MaxTokens: r.Limits.MaxOutputTokens,
		Render: func([]string) (prompts.Rendered, error) { return s.prompt, nil },
		Use: func(text string, read answer.Result) (why string) {
			a = reply{text: text, Result: read}
			if why = a.unusable(s); why != "" { // nothing else reports its refusals
				for _, f := range a.check(s).refused {
					r.recorder.TellRefused(f.Rule)
				}
				r.recorder.LogSkipped("chunk", s.no, a.Skipped)
			}
			return why
		},
		Keep: func(text string, status reverie.ChunkStatus) error { return r.saveChunk(ctx, s, input, text, status) }})
	if errors.Is(err, reverie.ErrUnusable) {
		err = fmt.Errorf("%w; its messages stay pending", err)
	}
	return a, err
}

// restoreQuestion looks for the form of the chunk that has the stored hash. The chunk may have been the last of its
// window when the model was asked, and no longer be: messages arrived late. Or the other way round. It returns the hash
// of the input, which it changes only where the other form has the stored hash.
func (r *run) restoreQuestion(s *chunkInput, model, stored string) (string, error) {
	input := s.inputSHA256(model)
	for range 2 {
		s.state.More = !s.state.More
		if _, err := r.fit(s, true); err != nil {
			return "", err
		}
		if now := s.inputSHA256(model); now == stored {
			return now, nil
		}
	}
	return input, nil
}

// halve returns the later half of the chunk's messages to the queue. The run's further chunks are no longer than the
// first half.
func (r *run) halve(ctx context.Context, s *chunkInput) error {
	middle := s.fresh[len(s.fresh)/2].ID
	for i, m := range s.state.Pending {
		if m.ID == middle {
			r.limit = i
			s.state.Pending, s.state.More = s.state.Pending[:i], true
			break
		}
	}
	r.Log.Info("halving the chunk", "group_id", r.req.GroupID, "run_id", r.recorder.Row.ID, "chunk", s.no, "messages", r.limit)
	return r.arrange(ctx, s, false)
}

// inputSHA256 is the hash that identifies the question.
func (s *chunkInput) inputSHA256(model string) string {
	return llm.InputSHA256(model, s.prompt.System, s.prompt.User)
}

// row makes the ledger row of a chunk.
func (r *run) row(s *chunkInput, input, text string, status reverie.ChunkStatus) reverie.Chunk {
	chunk := reverie.Chunk{No: s.no, InputSHA256: input, Answer: text, Status: status, Limit: r.limit,
		MessageIDs: pipeline.IDs(s.state.Pending)}
	for _, h := range s.shown {
		chunk.MemoryIDs = append(chunk.MemoryIDs, h.ID)
	}
	return chunk
}

func (r *run) saveChunk(ctx context.Context, s *chunkInput, input, text string, status reverie.ChunkStatus) error {
	err := r.recorder.Save(ctx, r.row(s, input, text, status))
	if r.result.RunID == "" {
		r.started(r.recorder.Row.ID)
	}
	return err
}
