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

// reply is the answer of the model, read into objects.
type reply struct {
	text string
	answer.Result
	checked *checked // nil until check has run
}

// proposal is one line of an answer that has the form of an action. Nothing in it has been checked yet.
type proposal struct {
	line      int
	action    reverie.Action
	oldID     string
	statement string
	typ       reverie.Type // "" where the line gives none
	due       *time.Time   // date of a plan
	reason    string
	tags      []string
	evidence  []reverie.Citation
}

// actionNone says explicitly that there is nothing to do.
const actionNone reverie.Action = "none"

// unusable returns why an answer cannot be used, or "" if it can.
//
// An answer is usable if one of its lines was accepted, held or only keeps a memory. It is also usable if a line was
// refused because its memory is pending review, or by a safety rule of statements: a poisoned chat must not stop its
// group. Other refused lines do not make an answer usable, and neither does a "none" beside them, unless it cites a
// message. A "none" alone means that there is nothing to do.
func (a *reply) unusable(s *chunkInput) string {
	if strings.TrimSpace(a.text) == "" {
		return "the answer was empty"
	}
	c := a.check(s)
	stands := func(l line) bool { return l.line > 0 } // lines that lapse has added have no number
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
			if len(p.evidence) > 0 { // the model has judged that message, as the short prompts ask
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

// citable reports whether any fresh message could be evidence. Messages of bots cannot.
func (s *chunkInput) citable() bool {
	return slices.ContainsFunc(s.fresh, func(m reverie.Message) bool { return m.Role == reverie.RoleUser })
}

// check parses and checks an answer once, and remembers the result.
func (a *reply) check(s *chunkInput) checked {
	if a.checked == nil {
		proposals, refusals := parse(*a)
		c := check(s, proposals, refusals)
		a.checked = &c
	}
	return *a.checked
}

// parse turns an answer into proposals. A line that is an object but no action is refused. Lines that are no objects
// were skipped when the answer was read.
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

// readProposal reads one object. It never invents an action. It accepts harmless habits of models: numbers as strings,
// one evidence instead of a list, unknown keys.
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
	// Small models write "keep" without an id for a new statement. It is checked and compared like any create.
	if p.action == reverie.ActionKeep && p.oldID == "" && p.statement != "" {
		p.action = reverie.ActionCreate
	}
	if raw.ChangeReason != nil {
		p.reason = *raw.ChangeReason
	}
	var kind, due string
	_, _ = json.Unmarshal(raw.Type, &kind), json.Unmarshal(raw.Due, &due) // a value that is no string counts as missing
	p.typ, p.due = reverie.TypeOf(kind), reverie.DueOf(due)
	_ = json.Unmarshal(raw.Tags, &p.tags) // tags are optional: anything but a list of strings is dropped
	if p.evidence, err = answer.Citations(raw.Evidence); err != nil {
		return proposal{}, fmt.Errorf("evidence: %w", err)
	}
	return p, nil
}
