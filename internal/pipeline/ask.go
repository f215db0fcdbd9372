package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reverie/internal/llm"
	"reverie/internal/llm/answer"
	"reverie/internal/reverie"
	"reverie/prompts"
)

// ErrCut means that an answer was cut off, or that a question was too long. The caller must ask about less.
var ErrCut = errors.New("answer was cut off")

// CutAlone is the error of a question that cannot be divided further. least names what is left of it.
func CutAlone(about, least string) error {
	return fmt.Errorf("%s: %w even for %s; raise [llm] max_output_tokens: %w", about, ErrCut, least,
		reverie.ErrUnusable)
}

// reasonUnusable is the reason by which a whole unusable answer is counted.
const reasonUnusable = "unusable answer"

// Question is asked a second time where the first answer is unusable.
type Question struct {
	About     string // its name in errors and in the log: session "s1"
	MaxTokens int    // tokens of an answer
	// Render fills the prompt; again says what was wrong with the first answer.
	Render func(again []string) (prompts.Rendered, error)
	// Use takes an answer and what was parsed of it. It returns why the answer is unusable, or "".
	Use func(text string, read answer.Result) (why string)
	// Keep stores an answer and whether it is usable. It is nil where a journal stores answers.
	Keep func(text string, of reverie.ChunkStatus) error
	Form string // the form of a valid answer, for the second question
}

// Ask asks a question. Where the answer is unusable, it asks once more and says what was wrong. The errors are
// [ErrCut], [reverie.ErrUnusable] after two unusable answers, those of q.Render, and those of [llm.Asker.Ask].
func (r *RunRecorder) Ask(ctx context.Context, asker *llm.Asker, q Question) (err error) {
	keep, asking := q.Keep, ctx
	if keep == nil {
		keep = func(string, reverie.ChunkStatus) error { return nil }
	} else if r.Hold != nil {
		asking = llm.KeepCalls(ctx, func(c *llm.KeptCall) { r.call = c })
		defer func() {
			if unwritten := r.recordCall(ctx); unwritten != nil {
				err = errors.Join(err, unwritten)
			}
		}()
	}
	var why string
	var again []string
	for range 2 {
		prompt, err := q.Render(again)
		if err != nil {
			return err
		}
		resp, _, err := asker.Ask(asking, llm.Request{System: prompt.System, User: prompt.User, MaxTokens: q.MaxTokens,
			Prompt: prompt.Name, PromptVersion: prompt.Version})
		switch {
		case llm.FaultIn(err) == llm.FaultTooLarge, err == nil && resp.Finish == llm.FinishLength:
			return ErrCut
		case err != nil:
			return fmt.Errorf("ask %s about %s of group %q: %w", asker.Model.Name(), q.About, r.Row.GroupID, err)
		}
		why = "the answer stopped with " + string(resp.Finish)
		if resp.Finish == llm.FinishStop {
			if why = q.Use(resp.Text, answer.ReadTo(prompt.System, resp.Text)); why == "" {
				return keep(resp.Text, reverie.ChunkAnswered)
			}
		}
		r.TellRefused(reasonUnusable)
		r.Log.Warn("unusable answer", "group_id", r.Row.GroupID, "run_id", r.Row.ID, "about", q.About, "reason", why)
		if err := keep(resp.Text, reverie.ChunkFailed); err != nil {
			return err
		}
		again = []string{why + ": " + q.Form}
	}
	return fmt.Errorf("%s of group %q: %s, twice: %w", q.About, r.Row.GroupID, why, reverie.ErrUnusable)
}

// recordCall records a call whose answer could not be stored, because it cost money all the same.
func (r *RunRecorder) recordCall(ctx context.Context) error {
	if r.call == nil {
		return nil
	}
	call := r.call
	r.call = nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := call.Write(func() error { return r.Ledger.RecordCall(ctx, call.Call) }); err != nil {
		return &llm.LedgerError{Call: call.Call, Err: err}
	}
	return nil
}

// Embeddings turns statements into vectors.
type Embeddings interface {
	Embed(ctx context.Context, meta llm.Meta, texts []string) ([][]float32, error)
	Key() string // model@dims
}

// Applier writes plans.
type Applier interface {
	Apply(ctx context.Context, lease reverie.Lease, plan reverie.Plan) ([]reverie.Change, error)
}

// Apply adds vectors to the plan of a chunk, as [RunRecorder.Embed] does, and writes it under the group's lease. The
// transaction of the last chunk also ends the run.
func (r *RunRecorder) Apply(ctx context.Context, store Applier, e Embeddings, optional bool, plan reverie.Plan,
	last bool) (changes []reverie.Change, err error) {
	if err := r.Embed(ctx, e, optional, plan.Steps); err != nil {
		return nil, err
	}
	if last {
		end := r.ending(nil, plan.Stats)
		plan.End = &end
	}
	err = r.Write(func(lease reverie.Lease) (err error) {
		changes, err = store.Apply(ctx, lease, plan)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("apply chunk %d of run %s: %w", plan.ChunkNo, r.Row.ID, err)
	}
	if last {
		r.Row, r.ended = *plan.End, true
	}
	return changes, nil
}

// Embed adds vectors to the steps that write a statement, with one request. A step that has a vector keeps it. If an
// optional embedder fails, Embed warns, and the rest of the run goes without it. e may be nil.
func (r *RunRecorder) Embed(ctx context.Context, e Embeddings, optional bool, steps []reverie.Step) error {
	var texts []string
	var at []int
	for i, s := range steps {
		if s.Statement != "" && s.Embedding == nil {
			texts, at = append(texts, s.Statement), append(at, i)
		}
	}
	if len(texts) == 0 || r.EmbeddingsOff {
		return nil
	}
	if e == nil {
		r.Warn("no embedding model is configured ([embed]): statements are stored without vectors until a search " +
			"can embed them")
		return nil
	}
	vectors, err := e.Embed(ctx, r.Meta("embed"), texts)
	if err != nil {
		if ctx.Err() != nil || llm.EndsRun(err) || !optional {
			return fmt.Errorf("embed %d statements of group %q: %w", len(texts), r.Row.GroupID, err)
		}
		r.EmbeddingsOff = true
		r.Warn(fmt.Sprintf("statements are stored without vectors, which a later search will fill in; "+
			"set REVERIE_EMBED_PROVIDER if this server has no embeddings: %v", err))
		return nil
	}
	for i, v := range vectors {
		steps[at[i]].Embedding, steps[at[i]].EmbeddingModel = v, e.Key()
	}
	return nil
}
