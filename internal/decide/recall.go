package decide

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"reverie/internal/llm"
	"reverie/internal/reverie"
)

// nearer orders candidates: the best score first, equal ones by memory id.
func nearer(a, b reverie.Candidate) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.MemoryID, b.MemoryID))
}

// recall finds what each fact is similar to: stored memories, entries that the store does not have with a vector of
// this model, and other facts. It embeds all texts at once. Where it cannot, only words are compared.
func (r *round) recall(ctx context.Context) error {
	q := reverie.CandidateQuery{GroupID: r.req.GroupID, Kind: r.req.Kind, MinScore: r.Options.MinScore, Untagged: r.req.Untagged}
	var asked []*fact
	for i := range r.facts {
		if f := &r.facts[i]; r.entryWithHash(f.ContentHash) == nil {
			f.id = reverie.NewID()
			asked, q.Probes = append(asked, f), append(q.Probes, reverie.Probe{ID: f.id, Text: f.Statement})
		}
	}
	comparable := slices.ContainsFunc(r.entries, r.compared)
	if len(asked) == 0 || !comparable && (r.req.FactsExempt || len(asked) < 2) {
		return nil
	}
	if r.Embeddings != nil && !r.req.EmbeddingsOff {
		q.Model = r.Embeddings.Key()
	}
	for _, e := range r.entries {
		switch {
		case e.head == nil:
		case !r.compared(e):
			q.Exclude = append(q.Exclude, e.head.ID)
		case r.isMissingInStore(e, q.Model):
			q.Exclude = append(q.Exclude, e.head.ID)
			q.Beside = append(q.Beside, reverie.Probe{ID: e.head.ID, Text: e.step.Statement})
		}
	}
	if err := r.embed(ctx, &q); err != nil {
		return err
	}
	if !r.req.FactsExempt {
		q.Beside = append(q.Beside, q.Probes...)
	}
	for i, f := range asked {
		f.vector, f.model = q.Probes[i].Vector, q.Model
	}
	return r.lookUp(ctx, asked, q)
}

// compared reports whether facts are compared with an entry, and not only matched by their exact text.
func (r *round) compared(e *entry) bool {
	switch {
	case e.deleted:
		return false
	case e.head == nil, e.callerOwned:
		return !r.req.FactsExempt
	}
	return !r.req.Exempt[e.head.ID]
}

// isMissingInStore reports whether the store cannot find a head by its future statement, or by a vector of the model.
// The plan rewrites it, or a dry run only simulates it, or it was stored without a vector.
func (r *round) isMissingInStore(e *entry, model string) bool {
	if e.callerOwned || r.req.Lease == nil && e.head.EmbeddingModel == "" {
		return true
	}
	return model != "" && !e.isArchived() && e.head.EmbeddingModel != model
}

// embed adds vectors to the texts of a query. Without a working embedder it clears the model of the query.
func (r *round) embed(ctx context.Context, q *reverie.CandidateQuery) error {
	if q.Model == "" {
		if r.Embeddings == nil {
			r.warn("no embedding model is configured ([embed]): new statements are compared with memories by their words alone")
		}
		return nil
	}
	var texts []string
	for _, p := range slices.Concat(q.Probes, q.Beside) {
		texts = append(texts, p.Text)
	}
	vectors, err := r.Embeddings.Embed(ctx, r.meta("embed"), texts)
	if err == nil {
		q.Calibration, err = r.Calibration.Calibrate(ctx, r.req.GroupID)
	}
	switch {
	case err == nil:
		for i := range q.Probes {
			q.Probes[i].Vector = vectors[i]
		}
		for i := range q.Beside {
			q.Beside[i].Vector = vectors[len(q.Probes)+i]
		}
	case ctx.Err() != nil || llm.EndsRun(err) || !r.EmbeddingsOptional:
		return fmt.Errorf("embed %d statements to compare: %w", len(texts), err)
	default:
		r.req.EmbeddingsOff, q.Model = true, ""
		r.warn(fmt.Sprintf("new statements are compared with memories by their words alone; "+
			"set REVERIE_EMBED_PROVIDER if this server has no embeddings: %v", err))
	}
	return nil
}

// lookUp asks the store for memories near the facts. It asks for as many more as the plan may remove.
func (r *round) lookUp(ctx context.Context, facts []*fact, q reverie.CandidateQuery) error {
	q.Limit = r.Options.TopK + len(r.facts) + len(q.Beside)
	if r.req.Lease == nil {
		q.Limit += len(r.req.Heads) // a dry run may have simulated rewrites of stored memories
	}
	found, err := r.Store.Candidates(ctx, q)
	if err != nil {
		return fmt.Errorf("look for memories like %d new statements: %w", len(facts), err)
	}
	if len(found) != len(facts) {
		return fmt.Errorf("look for memories like %d new statements: %d answers", len(facts), len(found))
	}
	for i, f := range facts {
		f.scores = make(map[string]float64, len(found[i]))
		for _, n := range found[i] {
			f.scores[n.ID] = n.Score
		}
	}
	return nil
}

// near returns the candidates of a fact, best first: see [nearer]. A memory is found by its statement, and by the facts
// that it contains.
func (r *round) near(f *fact) (list []candidate) {
	for _, e := range r.entries {
		if !r.compared(e) {
			continue
		}
		best, found := 0.0, false
		for _, id := range e.candidateIDs() {
			if score, hit := f.scores[id]; hit {
				best, found = max(best, score), true
			}
		}
		if !found {
			continue
		}
		c := candidate{entry: e}
		c.MemoryID, c.Version = e.version()
		c.Statement, c.Score = e.step.Statement, best
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b candidate) int { return nearer(a.Candidate, b.Candidate) })
	return list[:min(len(list), r.Options.TopK)]
}
