package pipeline

import (
	"context"
	"errors"
	"fmt"

	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/prompts"
)

// ErrCut says that an answer, or a question, was too long: what is asked about must
// shrink.
var ErrCut = errors.New("answer was cut off")

// Question is one that is asked again where the first answer is of no use.
type Question struct {
	About     string // what errors and the log call it: session "s1"
	MaxTokens int    // of an answer
	// Render fills the prompt; again says what was wrong with the first answer.
	Render func(again []string) (prompts.Rendered, error)
	// Use takes an answer, or says why it cannot.
	Use  func(text string) (why string)
	Form string // how to answer, for whoever is asked again
}

// Ask asks a question, and once more where the answer cannot be used, saying what
// was wrong with it. Its errors are [ErrCut], [reverie.ErrUnusable] for two answers
// of no use, those of q.Render, and those of [llm.Asker.Ask].
func (r *RunRecorder) Ask(ctx context.Context, asker *llm.Asker, q Question) error {
	var why string
	var again []string
	for range 2 {
		prompt, err := q.Render(again)
		if err != nil {
			return err
		}
		resp, _, err := asker.Ask(ctx, llm.Request{System: prompt.System, User: prompt.User, MaxTokens: q.MaxTokens,
			Prompt: prompt.Name, PromptVersion: prompt.Version})
		switch {
		case llm.FaultIn(err) == llm.FaultTooLarge, err == nil && resp.Finish == llm.FinishLength:
			return ErrCut
		case err != nil:
			return fmt.Errorf("ask %s about %s of group %q: %w", asker.Model.Name(), q.About, r.Row.GroupID, err)
		}
		why = "the answer stopped with " + string(resp.Finish)
		if resp.Finish == llm.FinishStop {
			if why = q.Use(resp.Text); why == "" {
				return nil
			}
		}
		r.Log.Warn("unusable answer", "group_id", r.Row.GroupID, "run_id", r.Row.ID, "about", q.About, "reason", why)
		again = []string{why + ": " + q.Form}
	}
	return fmt.Errorf("%s of group %q: %s, twice: %w", q.About, r.Row.GroupID, why, reverie.ErrUnusable)
}
