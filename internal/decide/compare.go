package decide

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"

	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
	"reverie/prompts"
)

// candidate is an entry that a fact is compared with.
type candidate struct {
	reverie.Candidate
	entry  *entry
	handle string // c1..cK, its name in the question
}

// compare asks the model how a fact relates to each of its candidates, and sets their verdicts. Candidates without a
// valid verdict are asked about once more. It returns why some still have none, "" if all have one.
func (r *round) compare(ctx context.Context, f *fact, near []candidate,
	d *reverie.Decision) (failure string, err error) {
	open := make([]*candidate, len(near))
	for i := range near {
		near[i].handle = "c" + strconv.Itoa(i+1)
		open[i] = &near[i]
	}
	var again []string
	for range 2 {
		if r.req.Asked >= r.Options.MaxCalls {
			return cmp.Or(failure, fmt.Sprintf("the run has asked %d questions, as many as it may ([decide] max_calls)",
				r.req.Asked)), nil
		}
		resp, err := r.ask(ctx, f, open, again, d)
		switch llm.FaultIn(err) {
		case llm.FaultTooLarge:
			return "the question is too large for the model", nil
		case llm.FaultBadRequest: // some servers filter content this way
			return "the server does not accept the question", nil
		}
		if err != nil {
			return "", err
		}
		v := r.validate(f, open, resp, len(again) > 0)
		for i := range near {
			if c := &near[i]; c.Relation == reverie.RelationConflict && r.Prompts.Small() &&
				shareFewWords(f.Statement, c.Statement) {
				c.Relation = reverie.RelationUnrelated
			}
		}
		for _, note := range v.notes {
			r.Log.Warn("part of a comparison skipped", "group_id", r.req.GroupID, "run_id", r.req.RunID, "chunk",
				r.req.ChunkNo, "reason", note)
		}
		open, again, failure = v.open, v.again, v.failure
		if len(open) == 0 {
			return "", nil
		}
	}
	return failure, nil
}

// maxQuotes is how many quotes of a fact the model sees.
const maxQuotes = 3

// ask asks one question.
func (r *round) ask(ctx context.Context, f *fact, open []*candidate, again []string,
	d *reverie.Decision) (llm.Response, error) {
	user := prompts.CompareUser{Fact: prompts.FactView{Statement: f.Statement}, Again: again}
	if len(f.Evidence) > 0 {
		newest := slices.MaxFunc(f.Evidence, func(a, b reverie.Evidence) int { return a.SentAt.Compare(b.SentAt) })
		user.Fact.Date = newest.LocalDate
		for _, e := range f.Evidence[:min(len(f.Evidence), maxQuotes)] {
			user.Fact.Quotes = append(user.Fact.Quotes, e.Quote)
		}
	}
	for _, c := range open {
		view := prompts.CandidateView{ID: c.handle, Statement: c.Statement}
		if h := c.entry.head; h != nil && !h.LastSupportedAt.IsZero() && r.req.Location != nil {
			view.LastSupportedAt = text.LocalDate(h.LastSupportedAt, r.req.Location)
		}
		user.Candidates = append(user.Candidates, view)
	}
	question, err := r.Prompts.Render(r.req.Language, prompts.CompareSystem{MaxStatement: reverie.MaxStatement}, user)
	if err != nil {
		return llm.Response{}, err
	}
	d.Model, d.PromptVersion, d.PromptSHA256 = r.Model.Name(), question.Version, question.SHA256
	resp, _, err := r.asker.Ask(ctx, llm.Request{System: question.System, User: question.User,
		MaxTokens: r.Options.MaxOutputTokens, Prompt: question.Name, PromptVersion: question.Version})
	if err != nil {
		return llm.Response{}, err
	}
	r.req.Asked++
	d.Calls++
	return resp, nil
}

// Store finds the memories nearest to a fact.
type Store interface {
	// Candidates returns, for each probe, the nearest memories, best first.
	Candidates(ctx context.Context, q reverie.CandidateQuery) ([][]reverie.Near, error)
}

// Model compares statements.
type Model interface {
	Generate(ctx context.Context, meta llm.Meta, req llm.Request) (llm.Response, error)
	Name() string // provider/model
}

// Embeddings turns statements into vectors.
type Embeddings interface {
	Embed(ctx context.Context, meta llm.Meta, texts []string) ([][]float32, error)
	Key() string // model@dims
}

// Fallback says what to do with a fact whose comparison failed.
type Fallback string

// The fallbacks.
const (
	FallbackAdd  Fallback = "add"
	FallbackSkip Fallback = "skip"
	FallbackHold Fallback = "hold"
)

// action returns the decision of a fallback.
func (f Fallback) action() reverie.DecisionAction {
	switch f {
	case FallbackSkip:
		return reverie.DecisionSkip
	case FallbackHold:
		return reverie.DecisionHold
	}
	return reverie.DecisionAdd
}

// Options bounds a comparison. All are positive.
type Options struct {
	TopK            int     // most candidates of one fact
	MinScore        float64 // of a candidate, 0..1
	Fallback        Fallback
	MaxCalls        int // most questions of one run; beyond it the fallback applies
	MaxOutputTokens int // tokens of an answer
}

// Comparer decides by comparing, as the package doc describes. Its fields are set once; it is safe for concurrent use
// on different groups.
type Comparer struct {
	Store      Store
	Model      Model
	Embeddings Embeddings // nil: only words are compared
	// EmbeddingsOptional turns a failure of the embedder into a warning. Then only words are compared.
	EmbeddingsOptional bool
	Prompts            *prompts.Set
	Calibration        reverie.Calibrator // of Embeddings
	Journal            llm.Journal        // nil: answers are not stored
	Options            Options
	Log                *slog.Logger
}

// round is the comparison of one request.
type round struct {
	*Comparer
	*planner
	asker      *llm.Asker
	pendingIDs map[string]bool // ids of facts that wait for a batch, and of the memories that they may change
	warnings   []string
}

// Decide decides on the facts of a request in order. Each decision takes the results of the earlier ones into account.
// The answers of embedder and model are stored, so that a request which is repeated after an interruption costs nothing
// and has the same result.
//
// A valid verdict counts even if other candidates have none after two questions. If no verdict duplicates, updates or
// contradicts a memory and some are missing, the fallback applies. The errors are those of the embedder and the model
// ([reverie.ErrDeferred], [reverie.ErrConfiguration], a [*reverie.BudgetError]), of the store and the journal
// ([reverie.ErrLeaseLost]), and of the context.
func (c *Comparer) Decide(ctx context.Context, req Request) (Result, error) {
	r := &round{Comparer: c, planner: newPlanner(req), pendingIDs: map[string]bool{}}
	r.asker = &llm.Asker{Model: c.Model, Journal: c.Journal, Lease: req.Lease, Meta: r.meta("compare")}
	if err := r.recall(ctx); err != nil {
		return Result{}, err
	}
	if err := r.settle(func(f *fact) (outcome, error) { return r.decideFact(ctx, f) }); err != nil {
		return Result{}, err
	}
	result := r.result()
	result.Decisions, result.Warnings = r.decisions(result.Facts), r.warnings
	return result, nil
}

// decideFact decides on a fact whose exact statement no memory has.
func (r *round) decideFact(ctx context.Context, f *fact) (outcome, error) {
	near, d := r.near(f), &f.decision
	if len(near) == 0 {
		d.Basis = reverie.BasisNone
		reason := "no memory comes near it"
		switch {
		case f.scores == nil && len(r.req.Exempt) > 0 && !slices.ContainsFunc(r.entries, r.compared):
			d.Basis, reason = reverie.BasisShown, "the model had the memories before it when it wrote this"
		case f.vector == nil && slices.ContainsFunc(r.entries, r.compared):
			reason = "no memory comes near it by its words; there was no vector to compare its meaning"
		}
		return outcome{action: reverie.DecisionAdd, reason: reason}, nil
	}
	if r.isPending(f, near) { // the question depends on the answer of that batch
		return outcome{}, &llm.PendingError{Model: r.Model.Name()}
	}
	failure, err := r.compare(ctx, f, near, d)
	if llm.IsPending(err) {
		r.pendingIDs[f.id] = true
		for _, c := range near {
			r.pendingIDs[c.MemoryID] = true
		}
	}
	if err != nil {
		return outcome{}, fmt.Errorf("compare a new statement of group %q with %d memories: %w", r.req.GroupID,
			len(near), err)
	}
	for _, c := range near {
		d.Candidates = append(d.Candidates, c.Candidate)
	}
	action, at := aggregate(d.Candidates)
	if failure != "" && at < 0 { // a missing verdict does not weaken those that are given
		d.Basis = reverie.BasisFallback
		r.warn(fmt.Sprintf("new statements could not be compared with memories, and [decide] fallback_mode (%s) "+
			"applies to them: %s", r.Options.Fallback, failure))
		return outcome{action: r.Options.Fallback.action(), reason: "not compared: " + failure}, nil
	}
	d.Basis = reverie.BasisCompared
	if at < 0 {
		return outcome{action: action, reason: "what comes near it is about something else"}, nil
	}
	c := near[at]
	return outcome{action: action, target: c.entry, merged: c.Merged, reason: c.Reason}, nil
}

// isPending reports whether a fact is near something that a fact in a waiting batch may change.
func (r *round) isPending(f *fact, near []candidate) bool {
	for id := range f.scores {
		if r.pendingIDs[id] {
			return true
		}
	}
	return slices.ContainsFunc(near, func(c candidate) bool { return r.pendingIDs[c.MemoryID] })
}

// decisions returns the decisions on the facts as rows. A fact that a later fact has replaced has no memory.
func (r *round) decisions(settled []Settled) []reverie.Decision {
	list := make([]reverie.Decision, len(r.facts))
	for i, f := range r.facts {
		d := f.decision
		d.GroupID, d.RunID, d.ChunkNo, d.No, d.Kind = r.req.GroupID, r.req.RunID, r.req.ChunkNo, i+1, r.req.Kind
		d.Statement, d.ContentHash, d.Basis = f.Statement, f.ContentHash, cmp.Or(d.Basis, reverie.BasisHash)
		d.Action, d.TargetID, d.MemoryID = f.outcome.action, settled[i].TargetID, settled[i].MemoryID
		d.Candidates = append([]reverie.Candidate{}, d.Candidates...)
		if d.Reason = safety.CleanReason(f.outcome.reason); f.resultEntry != nil && f.resultEntry.deleted {
			d.Reason = safety.CleanReason(joinReasons(d.Reason, "a later fact of the batch took its place"))
		}
		list[i] = d
	}
	return list
}

// meta returns the group, the run and the purpose of a call.
func (r *round) meta(purpose string) llm.Meta {
	m := llm.Meta{GroupID: r.req.GroupID, Purpose: purpose, Continued: r.req.Continued}
	if r.req.RunID != "" {
		m.RunID = &r.req.RunID
	}
	return m
}

// warn adds a text to the warnings, once.
func (r *round) warn(text string) {
	if !slices.Contains(r.warnings, text) {
		r.warnings = append(r.warnings, text)
	}
}

// aggregate makes one decision of the verdicts on a fact. A duplicate comes first, then the update with the best score,
// then the conflict with the best score; otherwise the fact is new. It returns the action and the index of its
// candidate, -1 for none. The order of the candidates does not matter: equal scores go by memory id. A candidate
// without a relation is ignored.
func aggregate(candidates []reverie.Candidate) (reverie.DecisionAction, int) {
	for _, rule := range []struct {
		relation reverie.Relation
		action   reverie.DecisionAction
	}{
		{reverie.RelationDuplicate, reverie.DecisionNone},
		{reverie.RelationUpdate, reverie.DecisionUpdate},
		{reverie.RelationConflict, reverie.DecisionReplace},
	} {
		best := -1
		for i, c := range candidates {
			if c.Relation == rule.relation && (best < 0 || nearer(c, candidates[best]) < 0) {
				best = i
			}
		}
		if best >= 0 {
			return rule.action, best
		}
	}
	return reverie.DecisionAdd, -1
}
