package evolve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"reverie/internal/llm"
	"reverie/internal/llm/answer"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
)

// propose asks the model about the chunk and returns its answer, which is
// stored before anything is done with it. An answer that was stored before a
// crash is returned without asking, while its input is the same. A cut-off
// answer is thrown away whole and the chunk halved; an unusable one is asked
// for once more. A chunk that shows no message asks nothing.
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
			err = fmt.Errorf("chunk %d of group %q: %w even for one message; raise [llm] max_output_tokens: %w",
				s.no, r.req.GroupID, pipeline.ErrCut, reverie.ErrUnusable)
			return reply{}, errors.Join(err, r.saveChunk(ctx, s, "", "", reverie.ChunkFailed))
		}
		if err := r.halve(ctx, s); err != nil {
			return reply{}, err
		}
	}
}

// ask asks up to twice for a usable answer.
func (r *run) ask(ctx context.Context, s *chunkInput) (reply, error) {
	input := s.inputSHA256(r.Model.Name())
	if r.resume != nil {
		stored := *r.resume
		r.resume = nil
		if stored.InputSHA256 != input {
			var err error
			if input, err = r.asAsked(s, r.Model.Name(), stored.InputSHA256); err != nil {
				return reply{}, err
			}
		}
		if stored.InputSHA256 == input {
			r.Log.Info("using the stored answer", "group_id", r.req.GroupID, "run_id", r.recorder.Row.ID, "chunk", s.no)
			return reply{text: stored.Answer, Result: answer.Read(stored.Answer)}, r.saveChunk(ctx, s, input, stored.Answer, reverie.ChunkAnswered)
		}
	}
	if err := r.saveChunk(ctx, s, input, "", reverie.ChunkOpen); err != nil {
		return reply{}, err
	}
	var why string
	for range 2 {
		resp, err := r.Model.Generate(ctx, r.recorder.Meta("evolve"),
			llm.Request{System: s.prompt.System, User: s.prompt.User, MaxTokens: r.Limits.MaxOutputTokens, Prompt: s.prompt.Name, PromptVersion: s.prompt.Version})
		switch {
		case llm.FaultIn(err) == llm.FaultTooLarge:
			return reply{}, pipeline.ErrCut
		case err != nil:
			return reply{}, fmt.Errorf("ask %s about group %q: %w", r.Model.Name(), r.req.GroupID, err)
		case resp.Finish == llm.FinishLength:
			return reply{}, pipeline.ErrCut
		}
		a := reply{text: resp.Text, Result: answer.Read(resp.Text)}
		if why = a.unusable(resp.Finish); why == "" {
			return a, r.saveChunk(ctx, s, input, resp.Text, reverie.ChunkAnswered)
		}
		r.Log.Warn("unusable answer", "group_id", r.req.GroupID, "run_id", r.recorder.Row.ID, "chunk", s.no, "reason", why)
		if err := r.saveChunk(ctx, s, input, resp.Text, reverie.ChunkFailed); err != nil {
			return reply{}, err
		}
	}
	return reply{}, fmt.Errorf("chunk %d of group %q: %s, twice: %w; its messages stay pending",
		s.no, r.req.GroupID, why, reverie.ErrUnusable)
}

// asAsked tries whether the chunk was the last of its window when it was asked
// about, and is not any more because messages came late, or the other way round.
// It returns the input's hash as it then is, the sheet with it, or leaves both.
func (r *run) asAsked(s *chunkInput, model, stored string) (string, error) {
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

// halve gives the later half of the chunk's messages back to the queue, for
// this run's further chunks too.
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

// inputSHA256 names the question: the model, what it is asked and what it is
// asked about.
func (s *chunkInput) inputSHA256(model string) string {
	h := sha256.New()
	for _, part := range []string{model, s.prompt.System, s.prompt.User} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (r *run) saveChunk(ctx context.Context, s *chunkInput, input, text string, status reverie.ChunkStatus) error {
	chunk := reverie.Chunk{No: s.no, InputSHA256: input, Answer: text, Status: status, Limit: r.limit}
	for _, m := range s.state.Pending {
		chunk.MessageIDs = append(chunk.MessageIDs, m.ID)
	}
	for _, h := range s.shown {
		chunk.MemoryIDs = append(chunk.MemoryIDs, h.ID)
	}
	err := r.recorder.Save(ctx, chunk)
	if r.result.RunID == "" {
		r.started(r.recorder.Row.ID)
	}
	return err
}
