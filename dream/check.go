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

// The rules by which a line is refused, besides those of [pipeline.Proposal] and those for statements (safety.Rule).
const (
	ruleUnknownSource = "unknown_source" // it cites a memory that was not shown, or that cannot be a source
	ruleSources       = "sources"        // it has too few sources
)

// item is a proposal that has passed the checks.
type item struct {
	pipeline.Proposal
	sources []*source // its sources, each once, in the order given
}

func proposalOf(it item) pipeline.Proposal { return it.Proposal }

// findings is the checked content of an answer.
type findings struct {
	narrative string    // checked; "" where the answer had no usable one
	sources   []*source // sources of the narrative
	items     []item    // in the order of the answer
}

// check compares an answer with what was shown. It returns the accepted findings, and the refused lines with the
// reasons. It is pure.
func check(s *chunkInput, limits Limits, a reply) (found findings, refused []reverie.Refusal) {
	c := &checker{chunkInput: s, limits: limits, refused: a.refused, byHandle: map[string]*source{}}
	for _, src := range s.sources() {
		c.byHandle[src.handle] = src
	}
	if a.narrative != nil {
		found.narrative, found.sources = c.checkNarrative(*a.narrative)
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

// checkNarrative checks the narrative. A source that was not shown is refused without the narrative, which may have no
// sources at all.
func (c *checker) checkNarrative(n pipeline.Proposal) (text string, rests []*source) {
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

// cited returns the memories of handles, each once, and what is wrong with the first unknown handle.
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
		if it.sources, detail = c.cited(p.Sources); detail == "" {
			rule, detail = replaceFault(p)
		}
	}
	if rule == "" {
		rule, detail = c.missingSources(it)
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

// replaceFault returns the rule by which a line may not replace or close its target, or "".
func replaceFault(p pipeline.Proposal) (rule, detail string) {
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

// missingSources returns what is missing in the sources of a line, or "". A line needs a new source. It also needs at
// least two memories, or one fact of a session that has evidence. A line that replaces an item needs only the new
// source, since it keeps the item's sources.
func (c *checker) missingSources(it item) (rule, detail string) {
	switch {
	case !slices.ContainsFunc(it.sources, func(s *source) bool { return s.fresh }):
		return ruleSources, "it rests on nothing that is new since the last dream: at least one source must be"
	case it.Target != nil || len(it.sources) > 1:
		return "", ""
	case !it.sources[0].fact:
		return ruleSources, "it rests on one memory alone, which is no fact of a session: at least two are needed"
	case !c.evidenced(it.sources[0]):
		return ruleSources, "it rests on one fact alone, whose evidence is gone: at least two memories are needed"
	}
	return "", ""
}

// reserved are the tags that mark the role of a memory. A model may not set them.
var reserved = []string{reverie.TagDream, reverie.TagLongTerm, reverie.TagDone, reverie.TagSummary, reverie.TagSession,
	string(reverie.DreamPreference), string(reverie.DreamTheme), string(reverie.DreamTodo)}

// itemTags returns the tags of the model without the reserved ones.
func itemTags(tags []string) []string {
	return slices.DeleteFunc(safety.CleanTags(tags), func(tag string) bool {
		return slices.Contains(reserved, strings.ToLower(text.Simplify(text.Fold(tag))))
	})
}
