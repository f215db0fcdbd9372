package dream

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"reverie"
	"reverie/life"
	"reverie/prompts"
)

// combine makes one part of several, by asking what they come to together: at once
// where that fits a question, else in levels, of which each has at most half as many
// parts as the one before.
func (r *run) combine(ctx context.Context, s *sheet, parts []part) (part, error) {
	if parts = worded(parts); len(parts) == 0 {
		return part{}, nil
	}
	for len(parts) > 1 {
		queue, err := r.bundles(s, parts)
		if err != nil {
			return part{}, err
		}
		var level []part
		for len(queue) > 0 {
			bundle := queue[0]
			if queue = queue[1:]; len(bundle) == 1 {
				level = append(level, bundle[0])
				continue
			}
			r.questions = s.asked + 1 + len(queue)
			p, err := r.ask(ctx, s, s.together(bundle))
			if errors.Is(err, life.ErrCut) {
				if half := len(bundle) / 2; len(bundle) > 2 {
					queue = append([][]part{bundle[:half], bundle[half:]}, queue...)
					continue
				}
				err = fmt.Errorf("the dream of group %q: %w even for two parts of it; raise [llm] max_output_tokens, or lower [dream] max_items: %w",
					r.req.GroupID, life.ErrCut, reverie.ErrUnusable)
			}
			if err != nil {
				return part{}, r.unusable(ctx, s, err)
			}
			level = append(level, p)
		}
		if parts = worded(level); len(parts) == 0 {
			return part{}, nil
		}
	}
	return parts[0], nil
}

// worded are the parts that say anything.
func worded(parts []part) (list []part) {
	for _, p := range parts {
		if p.narrative != "" || len(p.items) > 0 {
			list = append(list, p)
		}
	}
	return list
}

// bundles divides parts into questions that fit the budget, of two parts at least.
func (r *run) bundles(s *sheet, parts []part) (list [][]part, err error) {
	empty, err := r.render(s, question{combine: true}, nil)
	if err != nil {
		return nil, err
	}
	room := r.Limits.MaxInputTokens - reverie.EstimateTokens(empty.System) - reverie.EstimateTokens(empty.User)
	from, used := 0, 0
	for i, p := range parts {
		cost := prompts.Tokens(s.together([]part{p}).user.Parts)
		if i-from >= 2 && used+cost > room {
			list, from, used = append(list, parts[from:i]), i, 0
		}
		used += cost
	}
	return append(list, parts[from:]), nil
}

// together is the question of what parts come to. Their items are its only sources,
// each for all that it rests on.
func (s *sheet) together(parts []part) question {
	q := question{combine: true, names: names{sources: map[string][]*source{}, items: s.names.items}}
	items := map[string]item{}
	for _, p := range parts {
		view := prompts.DreamPartView{Summary: p.narrative, Items: []prompts.DreamPartItemView{}}
		for _, it := range p.items {
			id := "c" + strconv.Itoa(len(items)+1)
			if it.target != nil {
				it.replace = s.handle(it.target) // a model may have called it otherwise
			}
			items[id], q.names.sources[id] = it, it.rests
			view.Items = append(view.Items, prompts.DreamPartItemView{ID: id, Type: string(it.sort), Content: it.content,
				Confidence: it.confidence, Sources: len(it.rests), Replace: it.replace, Done: it.done})
		}
		q.user.Parts = append(q.user.Parts, view)
	}
	q.follow = func(a *answer) { inherit(a, items) }
	return q
}

// inherit has lines that carry an item on, and do not say what it replaces, replace
// that: what closes a todo would else become a new one.
func inherit(a *answer, items map[string]item) {
	taken := map[string]bool{}
	for _, p := range a.proposals {
		taken[p.replace] = true
	}
	for i := range a.proposals {
		p := &a.proposals[i]
		if p.replace != "" {
			continue
		}
		for _, id := range p.sources {
			if it, known := items[id]; known && it.replace != "" && it.sort == p.sort && !taken[it.replace] {
				p.replace, p.done = it.replace, it.done
				taken[it.replace] = true
				break
			}
		}
	}
}
