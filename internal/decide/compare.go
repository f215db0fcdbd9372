package decide

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/prompts"
)

// candidate is an entry that a fact is held against.
type candidate struct {
	reverie.Candidate
	entry  *entry
	handle string // c1..cK, as the model knows it
}

// compare asks the model how a fact stands to each of its candidates, and writes
// the verdicts on them. Those that come to nothing are asked about once more. It
// returns why some have no verdict, "" if all have one.
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
		case llm.FaultBadRequest: // so do some servers filter content
			return "the server does not accept the question", nil
		}
		if err != nil {
			return "", err
		}
		v := r.validate(f, open, resp, len(again) > 0)
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

// maxQuotes is how many quotes of a fact a model sees.
const maxQuotes = 3

// ask puts one question.
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
	question, err := r.Prompts.Compare(r.req.Language, prompts.CompareSystem{MaxStatement: reverie.MaxStatement}, user)
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
