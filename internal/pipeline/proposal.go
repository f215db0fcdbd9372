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

// The rules by which lines of extract and dream are refused, besides those for statements
// (safety.Rule).
const (
	RuleForm       = "form"       // an object, but no line that was asked for
	RuleUnknownID  = "unknown_id" // it replaces nothing that was shown
	RuleRepeated   = "repeated"   // said before by the same answer
	RuleConfidence = "confidence" // below the least that counts
	RuleQuota      = "quota"      // beyond what one answer may add
)

// TypeSummary is the type of the one line that sums up.
const TypeSummary = "summary"

// Proposal is one line of an answer to extract or dream that has the form of one.
type Proposal struct {
	Line       int
	Type       string // one of those asked for
	Content    string // "" only with Keep
	Tags       []string
	Confidence float64
	Replace    string             // handle of what it takes the place of; "" for what is new
	Evidence   []reverie.Citation // messages
	Sources    []string           // handles of memories
	Done       bool               // it closes what it replaces
	Keep       bool               // it only bears out what it replaces

	Target *reverie.HeadState // that Replace stands for; nil for what is new
	Hash   string             // of Content
}

// Refusal says that the line is refused.
func (p Proposal) Refusal(rule, detail string) reverie.Refusal {
	return reverie.Refusal{Line: p.Line, Action: text.Excerpt(p.Type, 20), Handle: text.Excerpt(p.Replace, 40), Rule: rule,
		Detail: detail}
}

// ReadProposals reads an answer's objects as proposals of some types, and its summary,
// nil where it has none. A line that is an object but neither is refused, and so is a
// second summary. Whoever names no type means the one that stands for that, if any.
// The keys done and keep are read only where closes is set: other jobs did not ask for them.
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
	_ = json.Unmarshal(raw.Tags, &p.Tags) // tags are decoration: those that are no list of strings are left out
	if p.Confidence, err = answer.Share(raw.Confidence); err != nil {
		return p, fmt.Errorf("confidence: %w", err)
	}
	if p.Replace, err = answer.Scalar(raw.Replace); err != nil {
		return p, fmt.Errorf("replace: %w", err)
	}
	p.Hash = text.ContentHash(p.Content)
	return p, nil
}

// readBool reads true or false, also as a string. What is absent or null is false.
func readBool(raw json.RawMessage) (bool, error) {
	switch strings.ToLower(strings.Trim(string(raw), `" `)) {
	case "true":
		return true, nil
	case "false", "null", "":
		return false, nil
	}
	return false, errors.New("neither true nor false")
}

// readHandles reads the handles, such as m1, in a list of strings or in one string. Words
// beside them are passed over.
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

// handles are letters and digits that stand by themselves, or beside letters that are not ASCII.
var handles = text.NewPattern(`\b[a-z]+[0-9]+\b`)

// Fault says by which rule a proposal is refused for what it says, or how sure it is; ""
// where it stands. Of one that only bears out something, the words do not matter.
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

// Surest leaves out what an answer says twice, in one wording or of one memory, and what
// goes beyond so many new things: a closing stays before all others, else the surer line,
// and of two alike the first.
func Surest[T any](list []T, of func(T) Proposal, most int) (kept []T, refused []reverie.Refusal) {
	said, replaced, fresh := map[string]bool{}, map[string]bool{}, 0
	rank := func(v T) float64 {
		if p := of(v); !p.Done {
			return p.Confidence
		}
		return 1 + of(v).Confidence // that of others is at most 1
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

// Standing are the memories among heads that no proposal rewords, by content hash.
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
