package evolve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"reverie"
	"reverie/llm"
	"reverie/llm/lines"
)

// answer is what the model said, read into objects.
type answer struct {
	text string
	lines.Result
}

// proposal is one line of an answer that has the form of an action; nothing in
// it has been checked yet.
type proposal struct {
	line      int
	action    reverie.Action
	oldID     string
	statement string
	reason    string
	tags      []string
	evidence  []citation
}

// citation is evidence as the model claims it: a message by number and words that should stand in it.
type citation struct {
	message string
	quote   string
}

// actionNone says on purpose that there is nothing to do.
const actionNone reverie.Action = "none"

// unusable says why an answer cannot be used, or nothing if it can: it needs a
// normal finish and at least one line that has the form of an action.
func (a answer) unusable(finish llm.Finish) string {
	if finish == llm.FinishRefused {
		return "the model refused to answer"
	}
	if strings.TrimSpace(a.text) == "" {
		return "the answer was empty"
	}
	if finish != llm.FinishStop {
		return fmt.Sprintf("the model stopped for an unknown reason (%s)", finish)
	}
	for _, l := range a.Lines {
		if _, err := readProposal(l); err == nil {
			return ""
		}
	}
	return "the answer held no action in JSON Lines"
}

// parse turns an answer into proposals. A line that is an object but no action
// is refused; what is not even that was skipped when the answer was read.
func parse(a answer) ([]proposal, []reverie.Refusal) {
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
	return proposals, refusals
}

// readProposal reads one object strictly enough never to invent an action, and
// loosely where a model's habit does no harm: numbers as strings, one evidence
// instead of a list, keys that we do not know.
func readProposal(l lines.Line) (proposal, error) {
	var raw struct {
		Action       *string         `json:"action"`
		OldID        json.RawMessage `json:"old_id"`
		Statement    *string         `json:"statement"`
		ChangeReason *string         `json:"change_reason"`
		Tags         json.RawMessage `json:"tags"`
		Evidence     json.RawMessage `json:"evidence"`
	}
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
		return proposal{}, fmt.Errorf("unknown action %q", reverie.Excerpt(*raw.Action, 20))
	}
	var err error
	if p.oldID, err = scalar(raw.OldID); err != nil {
		return proposal{}, fmt.Errorf("old_id: %w", err)
	}
	if raw.Statement != nil {
		p.statement = strings.TrimSpace(*raw.Statement)
	}
	if raw.ChangeReason != nil {
		p.reason = *raw.ChangeReason
	}
	_ = json.Unmarshal(raw.Tags, &p.tags) // tags are decoration: those that are no list of strings are left out
	p.evidence, err = readEvidence(raw.Evidence)
	return p, err
}

// readEvidence reads a list of citations, a single one, or bare message numbers.
func readEvidence(raw json.RawMessage) ([]citation, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	items := []json.RawMessage{raw}
	if raw[0] == '[' {
		if err := json.Unmarshal(raw, &items); err != nil {
			return nil, fmt.Errorf("evidence: %w", err)
		}
	}
	var citations []citation
	for _, item := range items {
		var c struct {
			Message json.RawMessage `json:"message"`
			Quote   *string         `json:"quote"`
		}
		if item = bytes.TrimSpace(item); len(item) == 0 || item[0] != '{' {
			c.Message = item
		} else if err := json.Unmarshal(item, &c); err != nil {
			return nil, fmt.Errorf("evidence: %w", err)
		}
		message, err := scalar(c.Message)
		if err != nil {
			return nil, fmt.Errorf("evidence: message: %w", err)
		}
		cited := citation{message: message}
		if c.Quote != nil {
			cited.quote = *c.Quote
		}
		citations = append(citations, cited)
	}
	return citations, nil
}

// scalar reads a string or a whole number as a string; null and nothing are "".
func scalar(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return strings.TrimSpace(s), nil
	}
	var f float64
	if err := json.Unmarshal(raw, &f); err != nil || f != math.Trunc(f) || math.Abs(f) > 1e15 {
		return "", fmt.Errorf("neither a string nor a whole number")
	}
	return strconv.FormatInt(int64(f), 10), nil
}
