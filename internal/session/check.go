package session

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"reverie/internal/decide"
	"reverie/internal/llm/answer"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// The types of facts. A line without a type has the first.
var factTypes = []string{"fact", "preference", "project"}

// reply is the answer of the model, parsed.
type reply struct {
	proposals []pipeline.Proposal
	recap     *pipeline.Proposal // nil: the answer had no summary
	refused   []reverie.Refusal
}

// usable reports whether the answer has a fact or a summary.
func (a reply) usable() bool { return len(a.proposals) > 0 || a.recap != nil }

func parse(read answer.Result) (a reply) {
	a.proposals, a.recap, a.refused = pipeline.ReadProposals(read, false, factTypes[0], factTypes...)
	return a
}

// ruleEvidence refuses a line whose evidence could not be verified.
const ruleEvidence = "evidence"

// fact is a proposal whose id, evidence and statement have been verified.
type fact struct {
	pipeline.Proposal
	evidence []reverie.Evidence
	quoted   bool // a message was quoted, not only cited by its number
}

func proposalOf(f fact) pipeline.Proposal { return f.Proposal }

// check compares the proposals with the input. It returns the lines to write, in the order of the answer, and the
// refused ones with the reasons. It is pure.
func check(s *chunkInput, limits Limits, a reply) (list []decide.Line, refused []reverie.Refusal) {
	byHandle := map[string]*reverie.HeadState{}
	for i := range s.facts {
		byHandle["m"+strconv.Itoa(i+1)] = &s.facts[i]
		byHandle[s.facts[i].ID] = &s.facts[i]
	}
	var facts []fact
	refused = a.refused
	for _, p := range a.proposals {
		p.Target = byHandle[p.Replace]
		f, rule, detail := s.verify(p, limits)
		if rule != "" {
			refused = append(refused, p.Refusal(rule, detail))
			continue
		}
		facts = append(facts, f)
	}
	facts, more := pipeline.Surest(facts, proposalOf, limits.MaxFacts)
	return s.settle(facts, limits), append(refused, more...)
}

// verify checks one proposal by itself. It returns the rule by which the proposal is refused, or "".
func (s *chunkInput) verify(p pipeline.Proposal, limits Limits) (f fact, rule, detail string) {
	if rule, detail = p.Fault(limits.MinConfidence); rule != "" {
		return f, rule, detail
	}
	if p.Replace != "" && p.Target == nil {
		return f, pipeline.RuleUnknownID, "no fact that was shown has this id"
	}
	f.Proposal = p
	if f.evidence, f.quoted = safety.Cite(p.Evidence, s.shown, s.loc); len(f.evidence) == 0 {
		return f, ruleEvidence, "none of its evidence stands in a message of these turns by a user"
	}
	return f, "", ""
}

// types maps types of facts to types of memories.
var types = map[string]reverie.Type{"preference": reverie.TypeOpinion, "project": reverie.TypePlan}

// settle turns facts into lines. A fact that replaces another by the same words supports it. A fact may replace another
// by a statement that a third fact has. Then the other is deleted and the third supported: no statement may be active
// twice.
func (s *chunkInput) settle(facts []fact, limits Limits) (list []decide.Line) {
	stands := pipeline.Standing(s.state.Heads, facts, proposalOf)
	for _, f := range facts {
		l := decide.Line{Action: reverie.ActionCreate, Target: f.Target, Statement: f.Content, ContentHash: f.Hash,
			Tags: tagsOf(f, limits), Type: types[f.Type],
			Reason: fmt.Sprintf("%s, confidence %.2f", f.Type, f.Confidence), Evidence: f.evidence, Quoted: f.quoted}
		switch {
		case f.Target == nil:
		case f.Hash == f.Target.ContentHash:
			l.Action = reverie.ActionKeep
		case stands[f.Hash] != nil:
			end := l
			end.Action, end.Reason = reverie.ActionDelete, reverie.ReasonMerged
			list = append(list, end)
			l.Target = nil
		default:
			l.Action = reverie.ActionUpdate
			if !limits.AutoTag {
				l.Tags = nil // the fact keeps its tags
			}
		}
		list = append(list, l)
	}
	return list
}

// tagsOf returns the tags of a fact: the session tag, and with auto_tag its type and the model's tags. A fact never has
// the summary tag, because summaries are not compared with anything.
func tagsOf(f fact, limits Limits) []string {
	tags := []string{reverie.TagSession}
	if limits.AutoTag {
		tags = append(append(tags, f.Type), f.Tags...)
	}
	return slices.DeleteFunc(safety.CleanTags(tags), func(tag string) bool {
		return strings.EqualFold(text.Simplify(text.Fold(tag)), reverie.TagSummary)
	})
}
