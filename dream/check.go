package dream

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// The rules by which a line is refused, besides those of [pipeline.Proposal] and for
// statements (safety.Rule).
const (
	ruleUnknownSource = "unknown_source" // it cites what was not shown, or what is no source
	ruleSources       = "sources"        // it rests on too little
)

// item is a proposal that has stood the checks.
type item struct {
	pipeline.Proposal
	rests []*source // each once, in the order given
}

func proposalOf(it item) pipeline.Proposal { return it.Proposal }

// findings are what an answer came to.
type findings struct {
	narrative string    // checked; "" where the answer had none that can be kept
	rests     []*source // of the narrative
	items     []item    // in the order of the answer
}

// check holds an answer against what was shown, and returns what stands, and what is
// refused and why. It is pure.
func check(s *chunkInput, limits Limits, a reply) (found findings, refused []reverie.Refusal) {
	c := &checker{chunkInput: s, limits: limits, refused: a.refused, byHandle: map[string]*source{}}
	for _, src := range s.sources() {
		c.byHandle[src.handle] = src
	}
	if a.narrative != nil {
		found.narrative, found.rests = c.recount(*a.narrative)
	}
	for _, p := range a.proposals {
		if it, ok := c.item(p); ok {
			found.items = append(found.items, it)
		}
	}
	found.items, refused = pipeline.Surest(found.items, proposalOf, limits.MaxItems)
	return found, append(c.refused, refused...)
}

type checker struct {
	*chunkInput
	limits   Limits
	refused  []reverie.Refusal
	byHandle map[string]*source
}

// recount checks the narrative. Sources of it that were not shown are refused by
// themselves: it may stand without any.
func (c *checker) recount(n pipeline.Proposal) (text string, rests []*source) {
	text = safety.CleanSummary(n.Content, reverie.MaxStatement)
	var broken *safety.StatementError
	if err := safety.CheckSummary(text); errors.As(err, &broken) {
		c.refused = append(c.refused, n.Refusal(string(broken.Rule), broken.Detail))
		return "", nil
	}
	rests, unknown := c.cited(n.Sources)
	if unknown != "" {
		c.refused = append(c.refused, n.Refusal(ruleUnknownSource, unknown+"; the summary stands without it"))
	}
	return text, rests
}

// cited are the memories that handles stand for, each once, and what is wrong with the
// first handle that stands for none.
func (c *checker) cited(handles []string) (rests []*source, unknown string) {
	for _, handle := range handles {
		src := c.byHandle[handle]
		switch {
		case src == nil && unknown == "" && c.open[handle] != nil:
			unknown = fmt.Sprintf("it cites %s, an item of an earlier dream, which is no source", handle)
		case src == nil && unknown == "":
			unknown = fmt.Sprintf("it cites %s, which was not shown", text.Excerpt(handle, 20))
		case src != nil && !slices.Contains(rests, src):
			rests = append(rests, src)
		}
	}
	return rests, unknown
}

// item checks one proposal by itself.
func (c *checker) item(p pipeline.Proposal) (item, bool) {
	p.Target, p.Tags = c.open[strings.ToLower(p.Replace)], itemTags(p.Tags)
	it := item{Proposal: p}
	rule, detail := p.Fault(c.limits.MinConfidence)
	if rule == "" {
		rule = ruleUnknownSource
		if it.rests, detail = c.cited(p.Sources); detail == "" {
			rule, detail = misplaced(p)
		}
	}
	if rule == "" {
		rule, detail = c.groundless(it)
	}
	if rule != "" {
		c.refused = append(c.refused, p.Refusal(rule, detail))
		return item{}, false
	}
	if p.Keep {
		it.Content, it.Hash = p.Target.Statement, p.Target.ContentHash
	}
	it.Keep = p.Target != nil && !p.Done && it.Hash == p.Target.ContentHash
	return it, true
}

// misplaced says by which rule a line may not replace or close what it does, "" if it
// may.
func misplaced(p pipeline.Proposal) (rule, detail string) {
	switch {
	case p.Replace != "" && p.Target == nil:
		return pipeline.RuleUnknownID, "no open item that was shown has this id"
	case p.Target == nil && p.Keep:
		return pipeline.RuleForm, "it keeps nothing: name the item that is borne out in replace"
	case p.Target == nil && p.Done:
		return pipeline.RuleForm, "it closes nothing: name the todo that is done in replace"
	case p.Target == nil:
		return "", ""
	case reverie.DreamTypeOf(p.Target.Memory) != reverie.DreamType(p.Type):
		return pipeline.RuleForm, fmt.Sprintf("it replaces a %s: the type of an item stays",
			reverie.DreamTypeOf(p.Target.Memory))
	case p.Done && (p.Keep || p.Type != string(reverie.DreamTodo)):
		return pipeline.RuleForm, "only a todo is ever done, and one that is done is not kept"
	}
	return "", ""
}

// groundless says what a line lacks to stand on, "" where it stands: something new,
// and at least two memories, or one fact of a session that has evidence; for one that
// replaces an item, which keeps what it rested on, anything new.
func (c *checker) groundless(it item) (rule, detail string) {
	switch {
	case !slices.ContainsFunc(it.rests, func(s *source) bool { return s.fresh }):
		return ruleSources, "it rests on nothing that is new since the last dream: at least one source must be"
	case it.Target != nil || len(it.rests) > 1:
		return "", ""
	case !it.rests[0].fact:
		return ruleSources, "it rests on one memory alone, which is no fact of a session: at least two are needed"
	case !c.evidenced(it.rests[0]):
		return ruleSources, "it rests on one fact alone, whose evidence is gone: at least two memories are needed"
	}
	return "", ""
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
