package evolve

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"reverie/internal/llm/answer"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// reply is what the model said, read into objects.
type reply struct {
	text string
	answer.Result
	checked *checked // nil: not yet
}

// proposal is one line of an answer that has the form of an action; nothing in
// it has been checked yet.
type proposal struct {
	line      int
	action    reverie.Action
	oldID     string
	statement string
	typ       reverie.Type // "" where it names none
	due       *time.Time   // of a plan
	reason    string
	tags      []string
	evidence  []reverie.Citation
}

// actionNone says on purpose that there is nothing to do.
const actionNone reverie.Action = "none"

// unusable says why an answer to an input cannot be used, or nothing if it can. It can where one of its lines
// was accepted or held, refused nothing (a keep), is refused because its memory waits already, or has a statement that the safety rules turn away: a
// chat that somebody has poisoned must not stop its group. Lines that are refused for anything else answer nothing,
// and a "none" beside them does not either, unless it is said of a message; alone it says that there is nothing to do.
func (a *reply) unusable(s *chunkInput) string {
	if strings.TrimSpace(a.text) == "" {
		return "the answer was empty"
	}
	c := a.check(s)
	stands := func(l line) bool { return l.line > 0 } // lines of no answer have none
	if slices.ContainsFunc(c.accepted, stands) || slices.ContainsFunc(c.held, stands) {
		return ""
	}
	refused, rules := map[int]bool{}, []string{}
	for _, f := range c.refused {
		if f.Rule != reverie.RuleWaits && f.Rule != reverie.RuleRejected && (f.Rule != ruleEvidence || s.citable()) {
			refused[f.Line] = true
		}
		rules = append(rules, f.Rule)
	}
	actions, nothing := 0, false
	for _, l := range a.Lines {
		p, err := readProposal(l)
		if err != nil {
			continue
		}
		if p.action == actionNone {
			if len(p.evidence) > 0 { // that message is judged, as the short prompts ask for
				return ""
			}
			nothing = true
			continue
		}
		var broken *safety.StatementError
		unsafe := errors.As(safety.CheckStatement(p.statement), &broken) && !broken.Malformed()
		if !refused[l.No] || unsafe {
			return ""
		}
		actions++
	}
	if actions == 0 && (nothing || len(a.Swallowed()) > 0) {
		return ""
	}
	if actions == 0 {
		return "the answer held no action in JSON Lines"
	}
	slices.Sort(rules)
	return fmt.Sprintf("no line of the answer stands (refused: %s)", strings.Join(slices.Compact(rules), ", "))
}

// citable tells whether anything could be evidence: what bots say cannot.
func (s *chunkInput) citable() bool {
	return slices.ContainsFunc(s.fresh, func(m reverie.Message) bool { return m.Role == reverie.RoleUser })
}

// check parses and checks an answer, once.
func (a *reply) check(s *chunkInput) checked {
	if a.checked == nil {
		proposals, refusals := parse(*a)
		c := check(s, proposals, refusals)
		a.checked = &c
	}
	return *a.checked
}

// parse turns an answer into proposals. A line that is an object but no action
// is refused; what is not even that was skipped when the answer was read.
func parse(a reply) ([]proposal, []reverie.Refusal) {
	var proposals []proposal
	var refusals []reverie.Refusal
	for _, l := range a.Lines {
		p, err := readProposal(l)
		switch {
		case err != nil:
			refusals = append(refusals, reverie.Refusal{Line: l.No, Rule: ruleForm, Detail: err.Error()})
		case p.action != actionNone:
			proposals = append(proposals, p)
		}
	}
	for no, why := range a.Swallowed() {
		refusals = append(refusals, reverie.Refusal{Line: no, Rule: ruleForm, Detail: why})
	}
	slices.SortStableFunc(refusals, func(a, b reverie.Refusal) int { return a.Line - b.Line })
	return proposals, refusals
}

// readProposal reads one object strictly enough never to invent an action, and
// loosely where a model's habit does no harm: numbers as strings, one evidence
// instead of a list, keys that we do not know.
func readProposal(l answer.Line) (proposal, error) {
	var raw answer.Action
	if err := json.Unmarshal(l.Object, &raw); err != nil {
		return proposal{}, fmt.Errorf("a field has the wrong type: %w", err)
	}
	if raw.Action == nil {
		return proposal{}, fmt.Errorf(`no "action"`)
	}
	p := proposal{line: l.No, action: reverie.Action(strings.ToLower(strings.TrimSpace(*raw.Action)))}
	switch p.action {
	case reverie.ActionKeep, reverie.ActionUpdate, reverie.ActionCreate, reverie.ActionDelete, actionNone:
	default:
		return proposal{}, fmt.Errorf("unknown action %q", text.Excerpt(*raw.Action, 20))
	}
	var err error
	if p.oldID, err = answer.Scalar(raw.OldID); err != nil {
		return proposal{}, fmt.Errorf("old_id: %w", err)
	}
	if raw.Statement != nil {
		p.statement = strings.TrimSpace(*raw.Statement)
	}
	// Small models write so of what is to be kept from now on. It is checked and compared like any create.
	if p.action == reverie.ActionKeep && p.oldID == "" && p.statement != "" {
		p.action = reverie.ActionCreate
	}
	if raw.ChangeReason != nil {
		p.reason = *raw.ChangeReason
	}
	var kind, due string
	_, _ = json.Unmarshal(raw.Type, &kind), json.Unmarshal(raw.Due, &due) // what is no text names none
	p.typ, p.due = reverie.TypeOf(kind), reverie.DueOf(due)
	_ = json.Unmarshal(raw.Tags, &p.tags) // tags are decoration: those that are no list of strings are left out
	if p.evidence, err = answer.Citations(raw.Evidence); err != nil {
		return proposal{}, fmt.Errorf("evidence: %w", err)
	}
	return p, nil
}
