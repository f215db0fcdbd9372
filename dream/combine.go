package dream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/prompts"
)

// combine makes one part of several, by asking what they come to together: at once
// where that fits a question, else in levels, of which each has at most half as many
// parts as the one before.
func (r *run) combine(ctx context.Context, s *chunkInput, parts []part) (part, error) {
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
			if errors.Is(err, pipeline.ErrCut) {
				if half := len(bundle) / 2; len(bundle) > 2 {
					queue = append([][]part{bundle[:half], bundle[half:]}, queue...)
					continue
				}
				err = fmt.Errorf("the dream of group %q: %w even for two parts of it; raise [llm] "+
					"max_output_tokens, or lower [dream] max_items: %w",
					r.req.GroupID, pipeline.ErrCut, reverie.ErrUnusable)
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
func (r *run) bundles(s *chunkInput, parts []part) (list [][]part, err error) {
	empty, err := r.render(s, question{combine: true}, nil)
	if err != nil {
		return nil, err
	}
	room := r.Limits.MaxInputTokens - text.EstimateTokens(empty.System) - text.EstimateTokens(empty.User)
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
func (s *chunkInput) together(parts []part) question {
	q := question{parts: parts, combine: true, names: names{sources: map[string][]*source{}, items: s.open,
		parts: map[string]item{}}}
	for _, p := range parts {
		q.asOf = max(q.asOf, p.asOf)
		view := prompts.DreamPartView{Summary: p.narrative, Items: []prompts.DreamPartItemView{}}
		for _, it := range p.items {
			id := "c" + strconv.Itoa(len(q.names.parts)+1)
			if it.target != nil {
				it.replace = s.handle(it.target) // a model may have called it otherwise
			}
			q.names.parts[id], q.names.sources[id] = it, it.rests
			view.Items = append(view.Items, prompts.DreamPartItemView{ID: id, Type: string(it.sort),
				Content:    it.content,
				Confidence: it.confidence, Sources: len(it.rests), Replace: it.replace, Done: it.done, Keep: it.keep})
		}
		q.user.Parts = append(q.user.Parts, view)
	}
	return q
}

// inherit has a line replace what the items of parts that it carries on replace, where
// it does not say so itself, and close or keep what they do: what closes a todo would
// else become a new one. It keeps an item only where nothing that it carries on
// rewrites it.
func (c *checker) inherit(p proposal) proposal {
	if c.parts == nil {
		return p
	}
	kept := p.keep
	for _, id := range p.sources {
		it, known := c.parts[id]
		if known && p.content == "" {
			p.content = it.content
		}
		if known && p.replace == "" && it.sort == p.sort {
			p.replace = it.replace
		}
	}
	target, same, rewrites := c.items[p.replace], 0, 0
	for _, id := range p.sources {
		it := c.parts[id]
		if it.target == nil || it.target != target || it.sort != p.sort {
			continue
		}
		same++
		if p.done = p.done || it.done; !it.keep {
			rewrites++
		}
	}
	p.keep = !p.done && p.replace != "" && rewrites == 0 && (kept || same > 0 && same == len(p.sources))
	return p
}

// carry adds to what parts come to together what closes or bears out items of theirs
// that no line of the answer speaks of. To bear an item out is not to speak of what a
// part closes or rewrites: that takes the place of the line, with its sources. What
// closes an item counts for more than what rewrites it, that for more than what bears it
// out, then the surer, and rests on the sources of all that do the same, and of what
// bears it out.
func carry(p part, parts []part) part {
	at, said, kept := map[string]int{}, map[string]bool{}, map[string]bool{} // by the id of what is replaced; by words
	for i, it := range p.items {
		if said[it.hash] = true; it.target != nil {
			at[it.target.ID], kept[it.target.ID] = i, it.keep
		}
	}
	var left []item
	for _, one := range parts {
		for _, it := range one.items {
			if it.target == nil {
				continue
			}
			if _, spoken := at[it.target.ID]; it.keep && !spoken {
				kept[it.target.ID] = true
			}
			left = append(left, it)
		}
	}
	slices.SortStableFunc(left, weightier)
	for _, it := range left {
		i, stands := at[it.target.ID]
		switch rewrites := !it.done && !it.keep; {
		case rewrites && (!kept[it.target.ID] || said[it.hash]): // left out, or said by another line
		case !stands:
			at[it.target.ID], said[it.hash] = len(p.items), true
			p.items = append(p.items, it)
		case p.items[i].keep && !it.keep:
			it.rests, said[it.hash] = besides(it.rests, p.items[i].rests), true
			p.items[i] = it
		case it.keep || it.done && p.items[i].done:
			p.items[i].rests = besides(p.items[i].rests, it.rests)
		}
	}
	p.items = dropConflicts(p.items, nil)
	return p
}

// lacks says what the answer to a question that combines parts has lost of them, "" if
// it may stand: what was found and checked is not thrown away for one bad answer. What
// is carried on anyhow need not stand in it.
func (q question) lacks(p part, refused []reverie.Refusal) (why string) {
	narrated, found := false, false
	for _, one := range q.parts {
		narrated = narrated || one.narrative != ""
		found = found || slices.ContainsFunc(one.items, func(it item) bool { return !it.done && !it.keep })
	}
	switch {
	case narrated && p.narrative == "":
		why = "the answer held no summary that can be kept"
	case found && len(p.items) == 0:
		why = "the answer held no item that can be kept"
	default:
		return ""
	}
	for _, f := range refused[:min(len(refused), maxTold)] {
		why += fmt.Sprintf("; line %d (%s", f.Line, f.Action)
		if f.Handle != "" {
			why += " " + f.Handle
		}
		why += "): " + f.Detail
	}
	return why
}

// maxTold is of how many lines whoever is asked again is told what was wrong.
const maxTold = 5
