package session

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"reverie/internal/decide"
	"reverie/internal/llm/answer"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// The rules by which a line is refused, besides those for statements
// (safety.Rule).
const (
	ruleForm       = "form"           // an object, but neither a fact nor a summary
	ruleUnknownID  = "unknown_id"     // it replaces no fact that was shown
	ruleRepeated   = "repeated"       // said before by the same answer
	ruleEvidence   = "evidence"       // nothing that it cites stands up
	ruleConfidence = "confidence"     // below the least that counts
	ruleQuota      = decide.RuleQuota // beyond the facts of a chunk
)

// fact is a proposal whose id, evidence and statement have been verified.
type fact struct {
	proposal
	target   *reverie.HeadState // that it replaces, nil for a new fact
	evidence []reverie.Evidence
	quoted   bool   // a message was quoted, not only named
	hash     string // of the content
}

// check holds the proposals against the input and returns what is to be written, in
// the order of the answer, and what was refused and why. It is pure.
func check(s *chunkInput, limits Limits, a reply) (list []decide.Line, refused []reverie.Refusal) {
	c := &checker{chunkInput: s, limits: limits, refused: a.refused, byHandle: map[string]*reverie.HeadState{}}
	for i := range s.facts {
		c.byHandle["m"+strconv.Itoa(i+1)] = &s.facts[i]
		c.byHandle[s.facts[i].ID] = &s.facts[i]
	}
	var facts []fact
	for _, p := range a.proposals {
		if f, ok := c.fact(p); ok {
			facts = append(facts, f)
		}
	}
	facts = c.surest(c.once(facts))
	return c.settle(facts), c.refused
}

type checker struct {
	*chunkInput
	limits   Limits
	refused  []reverie.Refusal
	byHandle map[string]*reverie.HeadState
}

func (c *checker) refuse(p proposal, rule, detail string) {
	c.refused = append(c.refused, reverie.Refusal{Line: p.line, Action: p.sort, Handle: text.Excerpt(p.replace, 40),
		Rule: rule, Detail: detail})
}

// fact checks one proposal by itself.
func (c *checker) fact(p proposal) (fact, bool) {
	f := fact{proposal: p}
	var broken *safety.StatementError
	if err := safety.CheckStatement(p.content); errors.As(err, &broken) {
		c.refuse(p, string(broken.Rule), broken.Detail)
		return f, false
	}
	if p.confidence < c.limits.MinConfidence {
		c.refuse(p, ruleConfidence, answer.TooUnsure(p.confidence, c.limits.MinConfidence))
		return f, false
	}
	if p.replace != "" {
		if f.target = c.byHandle[p.replace]; f.target == nil {
			c.refuse(p, ruleUnknownID, "no fact that was shown has this id")
			return f, false
		}
	}
	if f.evidence, f.quoted = safety.Cite(p.evidence, c.shown, c.loc); len(f.evidence) == 0 {
		c.refuse(p, ruleEvidence, "none of its evidence stands in a message of these turns by a user")
		return f, false
	}
	f.hash = text.ContentHash(p.content)
	return f, true
}

// once refuses what the answer says twice, in one wording or of one known fact: the
// surer line stays, of two alike the first.
func (c *checker) once(facts []fact) []fact {
	said, replaced := map[string]bool{}, map[string]bool{}
	return c.pick(facts, func(f fact) (rule, detail string) {
		switch {
		case said[f.hash]:
			return ruleRepeated, "the answer has already said this"
		case f.target != nil && replaced[f.target.ID]:
			return ruleRepeated, "the answer has already replaced this fact"
		}
		said[f.hash] = true
		if f.target != nil {
			replaced[f.target.ID] = true
		}
		return "", ""
	})
}

// surest refuses what goes beyond the facts of a chunk.
func (c *checker) surest(facts []fact) []fact {
	n := 0
	return c.pick(facts, func(fact) (rule, detail string) {
		if n++; n > c.limits.MaxFacts {
			return ruleQuota, fmt.Sprintf("the answer has more than %d facts; the surest ones stay", c.limits.MaxFacts)
		}
		return "", ""
	})
}

// pick asks of each fact, the surest first, by which rule it is refused, and
// returns the others in their order.
func (c *checker) pick(facts []fact, rule func(fact) (rule, detail string)) []fact {
	return answer.Pick(facts, func(f fact) float64 { return f.confidence }, func(f fact) bool {
		why, detail := rule(f)
		if why != "" {
			c.refuse(f.proposal, why, detail)
		}
		return why == ""
	})
}

// settle turns facts into lines. One that replaces a fact by the same words
// supports it. One that replaces it by what another one says already ends it and
// supports that other: no statement may be active twice.
func (c *checker) settle(facts []fact) (list []decide.Line) {
	stands := map[string]bool{} // hashes that stay active whatever is replaced
	for _, h := range c.state.Heads {
		stands[h.ContentHash] = true
	}
	for _, f := range facts {
		if f.target != nil && f.hash != f.target.ContentHash {
			delete(stands, f.target.ContentHash)
		}
	}
	for _, f := range facts {
		l := decide.Line{Action: reverie.ActionCreate, Target: f.target, Statement: f.content, ContentHash: f.hash,
			Tags:   c.tags(f),
			Reason: fmt.Sprintf("%s, confidence %.2f", f.sort, f.confidence), Evidence: f.evidence, Quoted: f.quoted}
		switch {
		case f.target == nil:
		case f.hash == f.target.ContentHash:
			l.Action = reverie.ActionKeep
		case stands[f.hash]:
			end := l
			end.Action, end.Reason = reverie.ActionDelete, reverie.ReasonMerged
			list = append(list, end)
			l.Target = nil
		default:
			l.Action = reverie.ActionUpdate
			if !c.limits.AutoTag {
				l.Tags = nil // those of the fact stay
			}
		}
		list = append(list, l)
	}
	return list
}

// tags are those of a fact: that it is of a session, and with auto_tag its type and
// what the model calls it. No fact is tagged as a summary: summaries are compared
// with nothing.
func (c *checker) tags(f fact) []string {
	tags := []string{reverie.TagSession}
	if c.limits.AutoTag {
		tags = append(append(tags, f.sort), f.tags...)
	}
	return slices.DeleteFunc(safety.CleanTags(tags), func(tag string) bool {
		return strings.EqualFold(text.Simplify(text.Fold(tag)), reverie.TagSummary)
	})
}
