package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"reverie/internal/llm/answer"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// The rules by which extract and dream refuse lines, besides those for statements (safety.Rule).
const (
	RuleForm       = "form"       // the line is an object, but of no known form
	RuleUnknownID  = "unknown_id" // the line replaces a memory that was not shown
	RuleRepeated   = "repeated"   // the answer says the same twice
	RuleConfidence = "confidence" // less certain than the minimum
	RuleQuota      = "quota"      // more new lines than one answer may have
)

// TypeSummary is the type of the summary line.
const TypeSummary = "summary"

// Proposal is one line of an answer to extract or dream that has the right form.
type Proposal struct {
	Line       int
	Type       string // one of the types of the question
	Content    string // "" only with Keep
	Tags       []string
	Confidence float64
	Replace    string             // handle of the memory that it replaces; "" for a new one
	Evidence   []reverie.Citation // messages
	Sources    []string           // handles of memories
	Done       bool               // it closes the memory that it replaces
	Keep       bool               // it only supports the memory that it replaces

	Target *reverie.HeadState // the memory of Replace; nil for a new one
	Hash   string             // of Content
}

// Refusal makes the refusal of the line.
func (p Proposal) Refusal(rule, detail string) reverie.Refusal {
	return reverie.Refusal{Line: p.Line, Action: text.Excerpt(p.Type, 20), Handle: text.Excerpt(p.Replace, 40), Rule: rule,
		Detail: detail}
}

// ReadProposals reads the objects of an answer as proposals of the given types, and the summary, nil where there is
// none. A line that is an object of another form is refused, and so is a second summary. A line without a type has the
// type untyped; "" means that it must name one. The keys done and keep are read only if closes is set, since other jobs
// do not ask for them.
func ReadProposals(read answer.Result, closes bool, untyped string, types ...string) (list []Proposal,
	summary *Proposal, refused []reverie.Refusal) {
	for _, l := range read.Lines {
		p, err := readProposal(l, closes, untyped, types)
		switch {
		case err != nil:
			refused = append(refused, p.Refusal(RuleForm, err.Error()))
		case p.Type != TypeSummary:
			list = append(list, p)
		case summary != nil:
			refused = append(refused, p.Refusal(RuleRepeated, "the answer has given its summary already"))
		default:
			summary = &p
		}
	}
	for no, why := range read.Swallowed() {
		refused = append(refused, Proposal{Line: no}.Refusal(RuleForm, why))
	}
	slices.SortStableFunc(refused, func(a, b reverie.Refusal) int { return a.Line - b.Line })
	return list, summary, refused
}

func readProposal(l answer.Line, closes bool, untyped string, types []string) (Proposal, error) {
	var raw answer.Fact
	p := Proposal{Line: l.No, Type: untyped}
	if err := json.Unmarshal(l.Object, &raw); err != nil {
		return p, fmt.Errorf("a field has the wrong type: %w", err)
	}
	if raw.Type != nil {
		p.Type = strings.ToLower(strings.TrimSpace(*raw.Type))
	}
	if p.Type != TypeSummary && !slices.Contains(types, p.Type) {
		return p, fmt.Errorf("type %q is none of %s, summary", text.Excerpt(p.Type, 20), strings.Join(types, ", "))
	}
	var err error
	if closes && p.Type != TypeSummary {
		if p.Done, err = readBool(raw.Done); err != nil {
			return p, fmt.Errorf("done: %w", err)
		}
		if p.Keep, err = readBool(raw.Keep); err != nil {
			return p, fmt.Errorf("keep: %w", err)
		}
	}
	if raw.Content != nil {
		p.Content = strings.TrimSpace(*raw.Content)
	}
	if p.Content == "" && !p.Keep {
		return p, errors.New(`no "content"`)
	}
	if p.Evidence, err = answer.Citations(raw.Evidence); err != nil {
		return p, fmt.Errorf("evidence: %w", err)
	}
	if p.Sources, err = readHandles(raw.Sources); err != nil {
		return p, fmt.Errorf("sources: %w", err)
	}
	if p.Type == TypeSummary {
		return p, nil
	}
	_ = json.Unmarshal(raw.Tags, &p.Tags) // tags are optional: anything but a list of strings is dropped
	if p.Confidence, err = answer.Share(raw.Confidence); err != nil {
		return p, fmt.Errorf("confidence: %w", err)
	}
	if p.Replace, err = answer.Scalar(raw.Replace); err != nil {
		return p, fmt.Errorf("replace: %w", err)
	}
	p.Hash = text.ContentHash(p.Content)
	return p, nil
}

// readBool reads true or false, also from a string. Absent and null are false.
func readBool(raw json.RawMessage) (bool, error) {
	switch strings.ToLower(strings.Trim(string(raw), `" `)) {
	case "true":
		return true, nil
	case "false", "null", "":
		return false, nil
	}
	return false, errors.New("neither true nor false")
}

// readHandles reads handles such as m1 from a list of strings or from one string. It ignores other words.
func readHandles(raw json.RawMessage) ([]string, error) {
	var list []string
	if json.Unmarshal(raw, &list) != nil {
		one, err := answer.Scalar(raw)
		if err != nil {
			return nil, errors.New("neither ids nor a list of them")
		}
		list = []string{one}
	}
	return handles.FindAllString(text.Fold(strings.Join(list, " ")), -1), nil
}

// handles matches ASCII letters with digits, between word boundaries or letters that are not ASCII.
var handles = text.NewPattern(`\b[a-z]+[0-9]+\b`)

// Fault returns the rule by which a proposal is refused for its text or its confidence, "" if there is none. The text
// of a proposal that only supports a memory is not checked.
func (p Proposal) Fault(minConfidence float64) (rule, detail string) {
	var broken *safety.StatementError
	if err := safety.CheckStatement(p.Content); errors.As(err, &broken) && !p.Keep {
		return string(broken.Rule), broken.Detail
	}
	if p.Confidence < minConfidence {
		return RuleConfidence, answer.TooUnsure(p.Confidence, minConfidence)
	}
	return "", ""
}

// Surest drops lines that repeat a text or a memory, and new lines beyond most. Lines that close a memory come first,
// then those with the higher confidence, then the earlier ones.
func Surest[T any](list []T, of func(T) Proposal, most int) (kept []T, refused []reverie.Refusal) {
	said, replaced, fresh := map[string]bool{}, map[string]bool{}, 0
	rank := func(v T) float64 {
		if p := of(v); !p.Done {
			return p.Confidence
		}
		return 1 + of(v).Confidence // above the confidence of all others
	}
	kept = answer.Pick(list, rank, func(v T) bool {
		p, rule, detail := of(v), RuleRepeated, ""
		switch {
		case !p.Done && said[p.Hash]:
			detail = "the answer has already said this"
		case p.Target != nil && replaced[p.Target.ID]:
			detail = "the answer has already replaced this"
		case p.Target == nil && fresh >= most:
			rule, detail = RuleQuota, fmt.Sprintf("the answer has more than %d; the surest ones stay", most)
		}
		if detail != "" {
			refused = append(refused, p.Refusal(rule, detail))
			return false
		}
		said[p.Hash] = said[p.Hash] || !p.Done
		if p.Target != nil {
			replaced[p.Target.ID] = true
		} else {
			fresh++
		}
		return true
	})
	return kept, refused
}

// Standing returns, by content hash, the heads that no proposal rewords.
func Standing[T any](heads []reverie.HeadState, list []T, of func(T) Proposal) map[string]*reverie.HeadState {
	stands := map[string]*reverie.HeadState{}
	for i := range heads {
		stands[heads[i].ContentHash] = &heads[i]
	}
	for _, v := range list {
		if p := of(v); p.Target != nil && p.Hash != p.Target.ContentHash {
			delete(stands, p.Target.ContentHash)
		}
	}
	return stands
}
