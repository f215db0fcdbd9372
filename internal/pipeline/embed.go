package pipeline

import (
	"context"
	"fmt"

	"reverie/internal/llm"
	"reverie/internal/reverie"
)

// Embeddings turns statements into vectors.
type Embeddings interface {
	Embed(ctx context.Context, meta llm.Meta, texts []string) ([][]float32, error)
	Key() string // model@dims
}

// Applier writes plans.
type Applier interface {
	Apply(ctx context.Context, lease reverie.Lease, plan reverie.Plan) ([]reverie.Change, error)
}

// Apply gives the plan of a chunk its vectors, as [RunRecorder.Embed] does, and has it written
// under the group's lease. With its last chunk the run ends, all in one.
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

// Embed gives steps that write a statement their vectors, all in one request. What
// has one keeps it. An optional embedder that fails is a warning, and is not waited
// for again in this run; e may be nil.
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
