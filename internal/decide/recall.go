package decide

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"reverie/internal/llm"
	"reverie/internal/reverie"
)

// nearer orders candidates: the best score first, equal ones by memory id.
func nearer(a, b reverie.Candidate) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.MemoryID, b.MemoryID))
}

// recall finds what each fact comes near to among the stored memories. All facts
// that may need it are embedded at once. Where that cannot be done, only the
// exact text counts.
func (r *round) recall(ctx context.Context) error {
	var asked []*fact
	var texts []string
	comparable := slices.ContainsFunc(r.entries, r.compared)
	for i := range r.facts {
		if f := &r.facts[i]; r.knows(f.ContentHash) == nil {
			asked, texts = append(asked, f), append(texts, f.Statement)
		}
	}
	if len(asked) == 0 || !comparable && (r.req.FactsExempt || len(asked) < 2) {
		return nil
	}
	vectors, err := r.embed(ctx, texts)
	if err != nil || vectors == nil {
		return err
	}
	for i, f := range asked {
		f.vector, f.model = vectors[i], r.Embeddings.Key()
	}
	if !comparable {
		return nil
	}
	if err := r.lookUp(ctx, asked); err != nil {
		return err
	}
	return r.embedHeads(ctx)
}

// compared tells whether facts are compared with an entry, and not only matched
// word for word.
func (r *round) compared(e *entry) bool {
	switch {
	case e.deleted:
		return false
	case e.head == nil, e.callerOwned:
		return !r.req.FactsExempt
	}
	return !r.req.Exempt[e.head.ID]
}

// embed turns texts into vectors, nil where there is no embedder to wait for.
func (r *round) embed(ctx context.Context, texts []string) ([][]float32, error) {
	if r.req.EmbeddingsOff {
		return nil, nil
	}
	if r.Embeddings == nil {
		r.warn("no embedding model is configured ([embed]): new statements are compared with memories of exactly " +
			"the same text only")
		return nil, nil
	}
	vectors, err := r.Embeddings.Embed(ctx, r.meta("embed"), texts)
	if err == nil {
		if r.scale, err = r.Calibration.Calibrate(ctx, r.req.GroupID); err == nil {
			return vectors, nil
		}
	}
	if ctx.Err() != nil || llm.EndsRun(err) || !r.EmbeddingsOptional {
		return nil, fmt.Errorf("embed %d statements to compare: %w", len(texts), err)
	}
	r.req.EmbeddingsOff = true
	r.warn(fmt.Sprintf("new statements are compared with memories of exactly the same text only; "+
		"set REVERIE_EMBED_PROVIDER if this server has no embeddings: %v", err))
	return nil, nil
}

// lookUp asks the store what comes near the facts. What lines take away during
// the round leaves room for as many others.
func (r *round) lookUp(ctx context.Context, facts []*fact) error {
	q := reverie.CandidateQuery{GroupID: r.req.GroupID, Kind: r.req.Kind, Model: r.Embeddings.Key(),
		MinCosine: r.minCosine(), Limit: r.Options.TopK + len(r.facts), Untagged: r.req.Untagged}
	if r.req.Lease == nil {
		q.Limit += len(r.req.Heads) // a dry run believes that some of what is stored has been rewritten
	}
	for _, f := range facts {
		q.Probes = append(q.Probes, f.vector)
	}
	for _, e := range r.entries {
		if e.head != nil && !r.compared(e) {
			q.Exclude = append(q.Exclude, e.head.ID)
		}
	}
	hits, err := r.Store.Candidates(ctx, q)
	if err != nil {
		return fmt.Errorf("look for memories like %d new statements: %w", len(facts), err)
	}
	if len(hits) != len(facts) {
		return fmt.Errorf("look for memories like %d new statements: %d answers", len(facts), len(hits))
	}
	for i, f := range facts {
		f.hits = make(map[string]float64, len(hits[i]))
		for _, h := range hits[i] {
			f.hits[h.ID] = h.Score
		}
	}
	return nil
}

// embedHeads embeds the statements that the store cannot find by this model:
// those stored without a vector, or by another model, and those that a dry run
// only believes to be stored.
func (r *round) embedHeads(ctx context.Context) error {
	var lacking []*entry
	var texts []string
	for _, e := range r.entries {
		if e.head != nil && !e.resting() && r.compared(e) && (e.callerOwned || e.head.EmbeddingModel != r.Embeddings.Key()) {
			lacking, texts = append(lacking, e), append(texts, e.step.Statement)
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	vectors, err := r.embed(ctx, texts)
	if err != nil || vectors == nil {
		return err
	}
	for i, e := range lacking {
		e.vectors = append(e.vectors, vectors[i])
	}
	return nil
}

// near are the candidates of a fact, best first: see [nearer].
func (r *round) near(f *fact) (list []candidate) {
	if f.vector == nil {
		return nil
	}
	for _, e := range r.entries {
		if !r.compared(e) {
			continue
		}
		cosine := math.Inf(-1)
		if e.head != nil {
			if c, hit := f.hits[e.head.ID]; hit {
				cosine = c
			}
		}
		for _, v := range e.vectors {
			cosine = max(cosine, reverie.Cosine(f.vector, v))
		}
		if cosine < r.minCosine() {
			continue
		}
		c := candidate{entry: e}
		c.MemoryID, c.Version = e.version()
		c.Statement, c.Score = e.step.Statement, r.scale.Score(cosine)
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b candidate) int { return nearer(a.Candidate, b.Candidate) })
	return list[:min(len(list), r.Options.TopK)]
}

func (r *round) minCosine() float64 { return r.scale.Cosine(r.Options.MinScore) }
