package dream

import (
	"context"
	"errors"
	"fmt"

	"reverie/internal/llm/answer"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/prompts"
)

// reply is the answer of the model, parsed.
type reply struct {
	narrative *pipeline.Proposal // nil: the answer had none
	proposals []pipeline.Proposal
	refused   []reverie.Refusal
}

// propose asks the model about the material and stores the answer. Where the answer is cut off, the later half of the
// material is left for another chunk. An unusable answer is asked for once more. Then the run fails, and takes nothing
// in. Without material nothing is asked.
func (r *run) propose(ctx context.Context, s *chunkInput) (a reply, err error) {
	for len(s.material) > 0 {
		a, err = r.ask(ctx, s)
		n := len(s.material)
		switch {
		case errors.Is(err, pipeline.ErrCut) && n > 1:
			r.limit = n / 2
			r.Log.Info("halving the chunk", "group_id", r.req.GroupID, "run_id", r.recorder.Row.ID, "chunk", s.no,
				"memories", r.limit)
			s.cut(r.limit)
			if err = r.saveChunk(ctx, s, reverie.ChunkOpen); err == nil {
				continue
			}
		case errors.Is(err, pipeline.ErrCut):
			err = pipeline.CutAlone(fmt.Sprintf("chunk %d of the dream of group %q", s.no, r.req.GroupID), "one memory")
		}
		if errors.Is(err, reverie.ErrUnusable) { // the next run would ask the same question
			err = errors.Join(fmt.Errorf("%w; what it was about stays new", err), r.saveChunk(ctx, s, reverie.ChunkFailed))
		}
		return a, err
	}
	return a, nil
}

// ask asks up to twice for a usable answer.
func (r *run) ask(ctx context.Context, s *chunkInput) (a reply, err error) {
	err = r.recorder.Ask(ctx, r.asker, pipeline.Question{About: fmt.Sprintf("chunk %d of the dream", s.no),
		MaxTokens: r.Limits.MaxOutputTokens,
		Form:      "answer with JSON Lines alone, as described; where nothing lasts, with the summary line alone",
		Render: func(again []string) (prompts.Rendered, error) {
			r.recorder.Stats.Asked++
			return r.render(s, again)
		},
		Use: func(_ string, read answer.Result) (why string) {
			r.recorder.LogSkipped("chunk", s.no, read.Skipped)
			a.proposals, a.narrative, a.refused = pipeline.ReadProposals(read, true, "", dreamTypes()...)
			if len(a.proposals) == 0 && a.narrative == nil && len(read.Swallowed()) == 0 {
				return "the answer held neither an item nor a summary"
			}
			return ""
		}})
	return a, err
}

func dreamTypes() (types []string) {
	for _, t := range reverie.DreamTypes {
		types = append(types, string(t))
	}
	return types
}

// render fills the prompt with the chunk. again says what was wrong with the first answer.
func (r *run) render(s *chunkInput, again []string) (prompts.Rendered, error) {
	user := prompts.DreamUser{AsOf: s.asOf, Items: s.items, Again: again}
	user.Sessions, user.Memories = s.views(s.sources())
	if user.Items == nil {
		user.Items = []prompts.DreamItemView{}
	}
	if last := s.state.Narrative; last != nil && safety.CheckSummary(last.Statement) == nil {
		user.LastDream = last.Statement
	}
	return r.Prompts.Render(s.language, prompts.DreamSystem{MaxStatement: reverie.MaxStatement,
		MaxItems: r.Limits.MaxItems, MinConfidence: r.Limits.MinConfidence}, user)
}
