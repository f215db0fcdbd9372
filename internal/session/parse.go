package session

import (
	"encoding/json"
	"fmt"
	"strings"

	"reverie/internal/llm/answer"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// The types of facts.
const (
	typeFact       = "fact"
	typePreference = "preference"
	typeProject    = "project"
	typeSummary    = "summary" // no fact: the line that renews the session's summary
)

// proposal is one line of an answer that has the form of a fact; nothing in it has
// been checked yet.
type proposal struct {
	line       int
	sort       string // fact, preference, project
	content    string
	tags       []string
	confidence float64
	replace    string
	evidence   []reverie.Citation
}

// recap is the summary line of an answer.
type recap struct {
	line     int
	content  string
	evidence []reverie.Citation
}

// reply is what the model said, read.
type reply struct {
	proposals []proposal
	recap     *recap // nil: it gave none
	refused   []reverie.Refusal
}

// usable tells whether the answer holds anything that was asked for.
func (a reply) usable() bool { return len(a.proposals) > 0 || a.recap != nil }

// parse turns the objects of an answer into proposals and a summary. A line that is
// an object but neither is refused, and so is a second summary.
func parse(read answer.Result) (a reply) {
	for _, l := range read.Lines {
		p, err := readLine(l)
		switch {
		case err != nil:
			a.refused = append(a.refused, reverie.Refusal{Line: l.No, Rule: ruleForm, Detail: err.Error()})
		case p.sort != typeSummary:
			a.proposals = append(a.proposals, p)
		case a.recap != nil:
			a.refused = append(a.refused, reverie.Refusal{Line: l.No, Action: typeSummary, Rule: ruleRepeated,
				Detail: "the answer has given its summary already"})
		default:
			a.recap = &recap{line: l.No, content: p.content, evidence: p.evidence}
		}
	}
	return a
}

// readLine reads one object. Without a type it is a fact.
func readLine(l answer.Line) (proposal, error) {
	var raw struct {
		Type       *string         `json:"type"`
		Content    *string         `json:"content"`
		Tags       json.RawMessage `json:"tags"`
		Confidence json.RawMessage `json:"confidence"`
		Replace    json.RawMessage `json:"replace"`
		Evidence   json.RawMessage `json:"evidence"`
	}
	if err := json.Unmarshal(l.Object, &raw); err != nil {
		return proposal{}, fmt.Errorf("a field has the wrong type: %w", err)
	}
	p := proposal{line: l.No, sort: typeFact}
	if raw.Type != nil {
		p.sort = strings.ToLower(strings.TrimSpace(*raw.Type))
	}
	switch p.sort {
	case typeFact, typePreference, typeProject, typeSummary:
	default:
		return proposal{}, fmt.Errorf("type %q is none of fact, preference, project, summary", text.Excerpt(p.sort, 20))
	}
	if raw.Content == nil || strings.TrimSpace(*raw.Content) == "" {
		return proposal{}, fmt.Errorf(`no "content"`)
	}
	p.content = strings.TrimSpace(*raw.Content)
	var err error
	if p.evidence, err = answer.Citations(raw.Evidence); err != nil {
		return proposal{}, fmt.Errorf("evidence: %w", err)
	}
	if p.sort == typeSummary {
		return p, nil
	}
	_ = json.Unmarshal(raw.Tags, &p.tags) // tags are decoration: those that are no list of strings are left out
	if p.confidence, err = answer.Share(raw.Confidence); err != nil {
		return proposal{}, fmt.Errorf("confidence: %w", err)
	}
	if p.replace, err = answer.Scalar(raw.Replace); err != nil {
		return proposal{}, fmt.Errorf("replace: %w", err)
	}
	return p, nil
}
