package dream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"reverie/internal/llm/answer"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/prompts"
)

// question is one about a part of the material, or about what such parts came to.
type question struct {
	user    prompts.DreamUser // its own share of it
	names   names
	asOf    string // local date of the newest material that it is about
	combine bool
	parts   []part // that are combined
}

// propose asks about all of the material, in as many questions as it takes, one after
// the other. Each answer is kept before the next question is asked. A question whose
// answer is cut off is halved, and saved so: nobody asks it whole again.
func (r *run) propose(ctx context.Context, s *chunkInput) ([]part, error) {
	var parts []part
	s.several = len(s.batches) > 1
	for i := 0; i < len(s.batches); {
		r.questions = s.asked + len(s.batches) - i
		p, err := r.ask(ctx, s, s.about(s.batches[i]))
		if errors.Is(err, pipeline.ErrCut) {
			if n := len(s.batches[i]); n > 1 {
				r.Log.Info("halving a question", "group_id", r.req.GroupID, "run_id", r.recorder.Row.ID, "question",
					s.asked+1)
				s.batches = slices.Replace(s.batches, i, i+1, s.batches[i][:n/2], s.batches[i][n/2:])
				s.several = true
				if err := r.saveChunk(ctx, s, reverie.ChunkOpen); err != nil {
					return nil, err
				}
				continue
			}
			err = pipeline.CutAlone(fmt.Sprintf("question %d of the dream of group %q", s.asked+1, r.req.GroupID), "one memory")
		}
		if err != nil {
			return nil, r.unusable(ctx, s, err)
		}
		parts, i = append(parts, p), i+1
		r.recorder.Stats.Batches++
	}
	return parts, nil
}

// ask asks up to twice for a usable answer, checked.
func (r *run) ask(ctx context.Context, s *chunkInput, q question) (p part, err error) {
	var refused []reverie.Refusal
	form := "answer with JSON Lines alone, as described; where nothing lasts, with the summary line alone"
	if q.combine {
		form = "answer with JSON Lines alone, as described: the summary line, then the items, each with ids of " +
			"items (c1, c2, ...) as its sources"
	}
	no := s.asked + 1
	err = r.recorder.Ask(ctx, r.asker, pipeline.Question{About: fmt.Sprintf("question %d of the dream", no),
		MaxTokens: r.Limits.MaxOutputTokens,
		Form:      form,
		Render: func(again []string) (prompts.Rendered, error) {
			if again != nil {
				r.recorder.Stats.Asked++
			}
			return r.render(s, q, again)
		},
		Use: func(text string) (why string) {
			read := answer.Read(text)
			r.recorder.LogSkipped("question", no, read.Skipped)
			a := parse(read)
			if len(a.proposals) == 0 && a.narrative == nil {
				return "the answer held neither an item nor a summary"
			}
			p, refused = check(q.names, r.Limits, a, s.evidenced)
			return q.lacks(p, refused)
		}})
	r.recorder.Stats.Asked++
	if err != nil {
		return part{}, err
	}
	p = carry(p, q.parts)
	p.asOf = q.asOf
	if s.several {
		for i := range refused {
			refused[i].Detail = fmt.Sprintf("question %d: %s", no, refused[i].Detail)
		}
	}
	s.refused, s.asked = append(s.refused, refused...), no
	if r.Progress != nil {
		r.Progress(Progress{GroupID: r.req.GroupID, Questions: no, Of: max(r.questions, no)})
	}
	return p, nil
}

// render fills the prompt with a question. again says what was wrong with the first
// answer.
func (r *run) render(s *chunkInput, q question, again []string) (prompts.Rendered, error) {
	user := q.user
	user.AsOf, user.Items, user.Again = cmp.Or(q.asOf, s.asOf), s.items, again
	if user.Items == nil {
		user.Items = []prompts.DreamItemView{}
	}
	if last := s.state.Narrative; last != nil && safety.CheckSummary(last.Statement) == nil {
		user.LastDream = last.Statement
	}
	return r.Prompts.Render(s.language, prompts.DreamSystem{MaxStatement: reverie.MaxStatement,
		MaxItems:      r.Limits.MaxItems,
		MinConfidence: r.Limits.MinConfidence, Combine: q.combine}, user)
}
