package session

import (
	"context"
	"errors"
	"fmt"

	"reverie"
	"reverie/llm"
	"reverie/llm/lines"
	"reverie/prompts"
)

// errCut says that the answer or the question was too long: what is asked about
// must shrink.
var errCut = errors.New("answer was cut off")

// propose asks the model about the chunk. Its answer is kept before anything is
// made of it. Where it is cut off, the chunk is halved; an unusable one is asked for
// once more, and then fails the run with nothing used. A chunk that shows no message
// asks nothing.
func (r *run) propose(ctx context.Context, s *sheet) (answer, error) {
	for len(s.shown) > 0 {
		a, err := r.ask(ctx, s)
		switch {
		case errors.Is(err, errCut) && len(s.shown) > 1:
			if err := r.halve(ctx, s); err != nil {
				return answer{}, err
			}
			continue
		case errors.Is(err, errCut):
			err = fmt.Errorf("chunk %d of session %q of group %q: %w even for one message; raise [llm] max_output_tokens: %w",
				s.no, r.req.SessionID, r.req.GroupID, errCut, reverie.ErrUnusable)
		}
		if errors.Is(err, reverie.ErrUnusable) {
			err = fmt.Errorf("%w; its messages wait on", err)
			// Asking the same again in another run would not help.
			err = errors.Join(err, r.saveChunk(ctx, s, reverie.ChunkFailed))
		}
		return a, err
	}
	return answer{}, nil
}

// halve leaves the later half of the chunk's turns in the buffer, for this run's
// further chunks too.
func (r *run) halve(ctx context.Context, s *sheet) error {
	middle := s.shown[len(s.shown)/2].ID
	for i, m := range s.messages {
		if m.ID == middle {
			s.cut(i)
			break
		}
	}
	r.limit = len(s.messages)
	r.Log.Info("halving the chunk", "group_id", r.req.GroupID, "session_id", r.req.SessionID, "run_id", r.life.Row.ID, "chunk", s.no, "messages", r.limit)
	if err := r.arrange(ctx, s, false); err != nil {
		return err
	}
	return r.saveChunk(ctx, s, reverie.ChunkOpen)
}

// ask asks up to twice for a usable answer.
func (r *run) ask(ctx context.Context, s *sheet) (a answer, err error) {
	render := func(again []string) (prompts.Rendered, error) { return r.render(s, s.shown, again) }
	again := "answer with JSON Lines alone, as described; where nothing lasts, with the summary line alone"
	err = r.twice(ctx, r.asker, r.Limits.MaxOutputTokens, render, again, func(text string) (why string) {
		read := lines.Read(text)
		for _, skip := range read.Skipped {
			r.Log.Warn("part of the answer skipped", "group_id", r.req.GroupID, "run_id", r.life.Row.ID, "chunk", s.no,
				"line", skip.No, "reason", skip.Reason, "text", reverie.MaskSecrets(skip.Excerpt))
		}
		if a = parse(read); !a.usable() {
			return "the answer held neither a fact nor a summary"
		}
		return ""
	})
	return a, err
}

// twice asks a question, and once more where the answer cannot be used, saying what
// was wrong with it. use takes an answer, or says why it cannot.
func (r *run) twice(ctx context.Context, asker *llm.Asker, maxTokens int, render func(again []string) (prompts.Rendered, error),
	again string, use func(text string) (why string)) error {
	var why string
	var asked []string
	for range 2 {
		prompt, err := render(asked)
		if err != nil {
			return err
		}
		resp, _, err := asker.Ask(ctx, llm.Request{System: prompt.System, User: prompt.User, MaxTokens: maxTokens,
			Prompt: prompt.Name, PromptVersion: prompt.Version})
		var fault *llm.Error
		switch {
		case errors.As(err, &fault) && fault.Fault == llm.FaultTooLarge, err == nil && resp.Finish == llm.FinishLength:
			return errCut
		case err != nil:
			return fmt.Errorf("ask %s about session %q of group %q: %w", asker.Model.Name(), r.req.SessionID, r.req.GroupID, err)
		}
		why = "the answer stopped with " + string(resp.Finish)
		if resp.Finish == llm.FinishStop {
			if why = use(resp.Text); why == "" {
				return nil
			}
		}
		r.Log.Warn("unusable answer", "group_id", r.req.GroupID, "session_id", r.req.SessionID, "run_id", r.life.Row.ID, "reason", why)
		asked = []string{why + ": " + again}
	}
	return fmt.Errorf("session %q of group %q: %s, twice: %w", r.req.SessionID, r.req.GroupID, why, reverie.ErrUnusable)
}
