package dream

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"reverie/internal/decide"
	"reverie/internal/llm/answer"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
	"reverie/prompts"
)

// The rules by which a line is refused, besides those for statements
// (safety.Rule).
const (
	ruleForm          = "form"           // an object, but no line that was asked for
	ruleConfidence    = "confidence"     // below the least that counts
	ruleUnknownSource = "unknown_source" // it cites what was not shown, or what is no source
	ruleUnknownID     = "unknown_id"     // it replaces no item that is open
	ruleSources       = "sources"        // it rests on too little
	ruleRepeated      = "repeated"       // said before by the same answer
	ruleQuota         = decide.RuleQuota // beyond the items of a dream
	ruleJoined        = "joined"         // no refusal: another line stands for it, too
)

// check holds an answer against what was shown, and returns what stands, in the order
// of the answer, and what is refused and why. evidenced tells whether a source has
// evidence now. It is pure.
func check(n names, limits Limits, a reply, evidenced func(*source) bool) (p part, refused []reverie.Refusal) {
	c := &checker{names: n.withIDs(), limits: limits, evidenced: evidenced, refused: slices.Clip(a.refused)}
	if a.narrative != nil {
		p.narrative, p.rests = c.recount(*a.narrative)
	}
	for _, proposed := range a.proposals {
		if it, ok := c.item(proposed); ok {
			p.items = append(p.items, it)
		}
	}
	p.items = c.surest(c.once(dropConflicts(p.items, nil)))
	return p, c.refused
}

// withIDs are the names with those that stand for one memory under the ids of their
// versions, too: what a model copies from elsewhere is as good.
func (n names) withIDs() names {
	all := names{sources: map[string][]*source{}, items: map[string]*reverie.HeadState{}, parts: n.parts}
	for handle, list := range n.sources {
		all.sources[handle] = list
		if len(list) == 1 && list[0].handle == handle {
			all.sources[list[0].head.ID] = list
		}
	}
	for handle, head := range n.items {
		all.items[handle], all.items[head.ID] = head, head
	}
	return all
}

type checker struct {
	names
	limits    Limits
	evidenced func(*source) bool
	refused   []reverie.Refusal
}

// refuse notes that a line is refused; handle is what it names wrongly, or replaces.
func (c *checker) refuse(line int, action reverie.DreamType, handle, rule, detail string) {
	c.refused = append(c.refused, reverie.Refusal{Line: line, Action: string(action), Handle: text.Excerpt(handle, 40),
		Rule: rule, Detail: detail})
}

// recount checks the narrative. Sources of it that were not shown are refused by
// themselves: it may stand without any.
func (c *checker) recount(n narrative) (text string, rests []*source) {
	text = safety.CleanSummary(n.content, reverie.MaxStatement)
	var broken *safety.StatementError
	if err := safety.CheckSummary(text); errors.As(err, &broken) {
		c.refuse(n.line, typeSummary, "", string(broken.Rule), broken.Detail)
		return "", nil
	}
	rests, unknown := c.cited(n.sources)
	if unknown != "" {
		c.refuse(n.line, typeSummary, unknown, ruleUnknownSource, c.unknown(unknown)+"; the summary stands without it")
	}
	return text, rests
}

// cited are the memories that handles stand for, each once, and the first handle that
// stands for none.
func (c *checker) cited(handles []string) (rests []*source, unknown string) {
	seen := map[string]bool{}
	for _, handle := range handles {
		list := c.sources[handle]
		if len(list) == 0 && unknown == "" {
			unknown = handle
		}
		for _, s := range list {
			if !seen[s.head.ID] {
				seen[s.head.ID] = true
				rests = append(rests, s)
			}
		}
	}
	return rests, unknown
}

// unknown says what is wrong with a handle that stands for no source.
func (c *checker) unknown(handle string) string {
	if c.items[handle] != nil {
		return "it cites an item of an earlier dream, which is no source"
	}
	return "it cites what was not shown"
}

// item checks one proposal by itself.
func (c *checker) item(p proposal) (item, bool) {
	p = c.inherit(p)
	it := item{proposal: p, target: c.items[p.replace]}
	it.tags = itemTags(p.tags)
	refuse := func(handle, rule, detail string) (item, bool) {
		c.refuse(p.line, p.sort, handle, rule, detail)
		return item{}, false
	}
	var broken *safety.StatementError
	if err := safety.CheckStatement(p.content); errors.As(err, &broken) && !p.keep {
		return refuse(p.replace, string(broken.Rule), broken.Detail)
	}
	if p.confidence < c.limits.MinConfidence {
		return refuse(p.replace, ruleConfidence, answer.TooUnsure(p.confidence, c.limits.MinConfidence))
	}
	var unknown string
	if it.rests, unknown = c.cited(p.sources); unknown != "" {
		return refuse(unknown, ruleUnknownSource, c.unknown(unknown))
	}
	if rule, detail := misplaced(it); rule != "" {
		return refuse(p.replace, rule, detail)
	}
	if detail := c.groundless(it); detail != "" {
		return refuse(p.replace, ruleSources, detail)
	}
	if p.keep {
		it.content = it.target.Statement
	}
	if it.hash = text.ContentHash(it.content); it.target != nil && !p.done {
		it.keep = p.keep || it.hash == it.target.ContentHash
	}
	return it, true
}

// closed says of a todo in its own words that it is over, for the n-th time where that
// has been said of the same words.
func closed(statement string, n int) string {
	prefix, chinese := "Done: ", prompts.Language("", []string{statement}) == prompts.Chinese
	if chinese {
		prefix = "已办完："
	}
	if n > 1 {
		prefix = fmt.Sprintf("Done (%d): ", n)
		if chinese {
			prefix = fmt.Sprintf("已办完（%d）：", n)
		}
	}
	text := []rune(prefix + statement)
	return string(text[:min(len(text), reverie.MaxStatement)])
}

// dropConflicts has what closes a todo by the words of another item, of the answer or of known,
// say so in the words of the todo: no statement is remembered twice, and each todo is
// over.
func dropConflicts(items []item, known map[string]*reverie.HeadState) []item {
	said := map[string]bool{}
	for _, it := range items {
		said[it.hash] = said[it.hash] || !it.done
	}
	for i := range items {
		it := &items[i]
		for n := 1; it.done && (said[it.hash] || known[it.hash] != nil && known[it.hash].ID != it.target.ID); n++ {
			it.content = closed(it.target.Statement, n)
			it.hash = text.ContentHash(it.content)
		}
		said[it.hash] = true
	}
	return items
}

// misplaced says by which rule a line may not replace or close what it does, "" if it
// may.
func misplaced(it item) (rule, detail string) {
	switch {
	case it.replace != "" && it.target == nil:
		return ruleUnknownID, "no open item that was shown has this id"
	case it.target != nil && reverie.DreamTypeOf(it.target.Memory) != it.sort:
		return ruleForm, fmt.Sprintf("it replaces a %s: the type of an item stays",
			reverie.DreamTypeOf(it.target.Memory))
	case it.done && it.keep:
		return ruleForm, "it cannot both keep an item and close it"
	case it.keep && it.target == nil:
		return ruleForm, "it keeps nothing: name the item that is borne out in replace"
	case it.done && it.sort != reverie.DreamTodo:
		return ruleForm, "only a todo is ever done"
	case it.done && it.target == nil:
		return ruleForm, "it closes nothing: name the todo that is done in replace"
	}
	return "", ""
}

// groundless says what a line lacks to stand on, "" where it stands: something new,
// and at least two memories, or one fact of a session that has evidence; for one that
// replaces an item, which keeps what it rested on, anything new.
func (c *checker) groundless(it item) (detail string) {
	switch {
	case len(it.rests) == 0:
		return "it rests on nothing"
	case !slices.ContainsFunc(it.rests, func(s *source) bool { return s.fresh }):
		return "it rests on nothing that is new since the last dream: at least one source must be"
	case it.target != nil:
		return ""
	case len(it.rests) == 1 && !it.rests[0].fact:
		return "it rests on one memory alone, which is no fact of a session: at least two are needed"
	case len(it.rests) == 1 && !c.evidenced(it.rests[0]):
		return "it rests on one fact alone, whose evidence is gone: at least two memories are needed"
	}
	return ""
}

// reserved are the tags that say what a memory is, which is not for a model to do.
var reserved = []string{reverie.TagDream, reverie.TagLongTerm, reverie.TagDone, reverie.TagSummary, reverie.TagSession,
	string(reverie.DreamPreference), string(reverie.DreamTheme), string(reverie.DreamTodo)}

// itemTags are the model's tags that an item may have.
func itemTags(tags []string) []string {
	return slices.DeleteFunc(safety.CleanTags(tags), func(tag string) bool {
		return slices.Contains(reserved, strings.ToLower(text.Simplify(text.Fold(tag))))
	})
}

// once refuses what the answer says twice, in one wording, of one earlier item or of
// one item of a part: the surer line stays, of two alike the first. Of lines on one
// earlier item the weightiest stays however sure it is, and what bears that item out
// besides is no line of its own, but adds its sources.
func (c *checker) once(items []item) []item {
	said, replaced, merged := map[string]bool{}, map[string]bool{}, map[string]bool{}
	sure, more := map[string]float64{}, map[string][]*source{} // by the id of what is replaced
	for _, it := range items {
		if it.target != nil {
			sure[it.target.ID] = max(sure[it.target.ID], it.confidence)
		}
	}
	order := slices.Clone(items)
	slices.SortStableFunc(order, weightier)
	surest := func(it item) float64 {
		if it.target != nil {
			return sure[it.target.ID]
		}
		return it.confidence
	}
	order = c.pick(order, surest, func(it item) (rule, detail string) {
		if it.keep && replaced[it.target.ID] {
			more[it.target.ID] = append(more[it.target.ID], it.rests...)
			return ruleJoined, ""
		}
		again := slices.IndexFunc(it.sources, func(id string) bool { return c.parts != nil && merged[id] })
		switch {
		case again >= 0:
			return ruleRepeated, fmt.Sprintf("%s stands in another line already", it.sources[again])
		case said[it.hash]:
			return ruleRepeated, "the answer has already said this"
		case it.target != nil && replaced[it.target.ID]:
			return ruleRepeated, "the answer has already replaced this item"
		}
		said[it.hash] = true
		if it.target != nil {
			replaced[it.target.ID] = true
		}
		for _, id := range it.sources {
			merged[id] = true
		}
		return "", ""
	})
	for i, it := range order {
		if it.target != nil {
			order[i].rests = besides(it.rests, more[it.target.ID])
		}
	}
	slices.SortStableFunc(order, func(a, b item) int { return cmp.Compare(a.line, b.line) })
	return order
}

// weightier orders what is said of earlier items: what closes one, what rewrites it,
// what bears it out, and of each the surer first.
func weightier(a, b item) int {
	weight := func(it item) int {
		switch {
		case it.done:
			return 0
		case it.keep:
			return 2
		}
		return 1
	}
	return cmp.Or(cmp.Compare(weight(a), weight(b)), cmp.Compare(b.confidence, a.confidence))
}

// besides are sources and those of more that are not among them.
func besides(rests, more []*source) []*source {
	rests = slices.Clip(rests)
	for _, src := range more {
		if !slices.Contains(rests, src) {
			rests = append(rests, src)
		}
	}
	return rests
}

// surest refuses what goes beyond the new items of a dream. What becomes of earlier
// ones is no matter of room.
func (c *checker) surest(items []item) []item {
	n := 0
	return c.pick(items, func(it item) float64 { return it.confidence }, func(it item) (rule, detail string) {
		if it.target != nil {
			return "", ""
		}
		if n++; n > c.limits.MaxItems {
			return ruleQuota, fmt.Sprintf("the answer has more than %d new items; the surest ones stay",
				c.limits.MaxItems)
		}
		return "", ""
	})
}

// pick asks of each item, the surest first, by which rule it is refused, and returns
// the others in their order.
func (c *checker) pick(items []item, sure func(item) float64, rule func(item) (rule, detail string)) []item {
	return answer.Pick(items, sure, func(it item) bool {
		why, detail := rule(it)
		if why != "" && why != ruleJoined {
			c.refuse(it.line, it.sort, it.replace, why, detail)
		}
		return why == ""
	})
}
