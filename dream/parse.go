package dream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"reverie/internal/llm/answer"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// typeSummary is no type of item: the line with the narrative.
const typeSummary = "summary"

// parse turns the objects of an answer into proposals and a narrative. A line that is
// an object but neither is refused, and so is a second narrative.
func parse(read answer.Result) (a reply) {
	for _, l := range read.Lines {
		p, err := readLine(l)
		switch {
		case err != nil:
			a.refused = append(a.refused, reverie.Refusal{Line: l.No, Action: text.Excerpt(string(p.sort), 20),
				Rule: ruleForm, Detail: err.Error()})
		case p.sort != typeSummary:
			a.proposals = append(a.proposals, p)
		case a.narrative != nil:
			a.refused = append(a.refused, reverie.Refusal{Line: l.No, Action: typeSummary, Rule: ruleRepeated,
				Detail: "the answer has given its summary already"})
		default:
			a.narrative = &narrative{line: l.No, content: p.content, sources: p.sources}
		}
	}
	return a
}

// readLine reads one object: an item, or the narrative as one of type summary.
func readLine(l answer.Line) (proposal, error) {
	var raw struct {
		Type       *string         `json:"type"`
		Content    *string         `json:"content"`
		Sources    json.RawMessage `json:"sources"`
		Confidence json.RawMessage `json:"confidence"`
		Tags       json.RawMessage `json:"tags"`
		Replace    json.RawMessage `json:"replace"`
		Done       json.RawMessage `json:"done"`
		Keep       json.RawMessage `json:"keep"`
	}
	if err := json.Unmarshal(l.Object, &raw); err != nil {
		return proposal{}, fmt.Errorf("a field has the wrong type: %w", err)
	}
	p := proposal{line: l.No}
	if raw.Type == nil {
		return p, errors.New(`no "type"`)
	}
	p.sort = reverie.DreamType(strings.ToLower(strings.TrimSpace(*raw.Type)))
	if p.sort != typeSummary && !slices.Contains(reverie.DreamTypes, p.sort) {
		return p, fmt.Errorf("type %q is none of summary, preference, theme, todo", text.Excerpt(string(p.sort), 20))
	}
	var err error
	if p.keep, err = readYes(raw.Keep); err != nil {
		return p, fmt.Errorf("keep: %w", err)
	}
	if raw.Content != nil {
		p.content = strings.TrimSpace(*raw.Content)
	}
	if p.content == "" && (!p.keep || p.sort == typeSummary) {
		return p, errors.New(`no "content"`)
	}
	if p.sources, err = readHandles(raw.Sources); err != nil {
		return p, fmt.Errorf("sources: %w", err)
	}
	if p.sort == typeSummary {
		return p, nil
	}
	_ = json.Unmarshal(raw.Tags, &p.tags) // tags are decoration: those that are no list of strings are left out
	if p.confidence, err = readShare(raw.Confidence); err != nil {
		return p, fmt.Errorf("confidence: %w", err)
	}
	var replaced []string
	if !isNone(raw.Replace) {
		replaced, err = readHandles(raw.Replace)
	}
	switch {
	case err != nil:
		return p, fmt.Errorf("replace: %w", err)
	case len(replaced) > 1:
		return p, fmt.Errorf("it replaces %d items: one line replaces one", len(replaced))
	case len(replaced) == 1:
		p.replace = replaced[0]
	}
	if p.done, err = readYes(raw.Done); err != nil {
		return p, fmt.Errorf("done: %w", err)
	}
	return p, nil
}

// readHandles reads a list of handles, or one string that holds several, or objects
// with an id. They come folded, so that neither case nor width matters, without the
// brackets, quotes and emphasis that models put around them and the remarks that they
// put behind.
func readHandles(raw json.RawMessage) (handles []string, err error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil, nil
	}
	list := []json.RawMessage{raw}
	if raw[0] == '[' {
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, err
		}
	}
	for _, one := range list {
		s, err := readHandle(one)
		if err != nil {
			return nil, err
		}
		for _, word := range strings.FieldsFunc(withoutRemarks(text.Fold(s)), divides) {
			if word = strings.TrimFunc(word, wraps); word != "" && word != "and" {
				handles = append(handles, word)
			}
		}
	}
	return handles, nil
}

// readHandle reads a string or number, or the id of an object.
func readHandle(raw json.RawMessage) (string, error) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '{' {
		return answer.Scalar(raw)
	}
	var named struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal(raw, &named); err != nil {
		return "", err
	}
	if id, err := answer.Scalar(named.ID); err != nil || id != "" {
		return id, err
	}
	return "", errors.New("an object without an id")
}

var (
	// remark is a parenthesis behind a handle.
	remark = text.NewPattern(`([a-z]\d+[\]"'”’*_` + "`" + `]*\s*)\(([^()]*)\)`)
	// cites tells that a parenthesis holds handles and nothing else.
	cites = text.NewPattern(`^[\s,;、/&+]*(?:[a-z]\d+[\s,;、/&+]*)+$`)
)

// withoutRemarks leaves out what is said in parentheses of the handle before.
func withoutRemarks(text string) string {
	return remark.ReplaceAllStringFunc(text, func(s string) string {
		if m := remark.FindStringSubmatch(s); !cites.MatchString(m[2]) {
			return m[1] + " "
		}
		return s
	})
}

// divides tells what stands between two handles.
func divides(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;、/&+和与", r) }

// wraps tells what stands around a handle.
func wraps(r rune) bool { return strings.ContainsRune("[](){}<>【】「」'\"`“”‘’#.:*_", r) }

// The words for none, yes and no that models write where a field might have been left
// out.
var (
	noneWords = []string{"", "null", "none", "nil", "n/a", "na", "no", "false", "-", "--", "–", "—", "无", "没有", "否",
		"空"}
	yesWords = []string{"true", "yes", "y", "t", "1", "done", "keep", "是", "对", "已", "已完成", "完成", "保留"}
	noWords  = append([]string{"n", "f", "0", "not", "不", "不是", "未", "未完成", "没"}, noneWords...)
)

// word is a string, or anything else, folded.
func word(raw json.RawMessage) string {
	body := string(bytes.TrimSpace(raw))
	var s string
	if json.Unmarshal(raw, &s) == nil {
		body = s
	}
	return strings.TrimSpace(text.Fold(body))
}

// isNone tells whether a field, or its only element, names nothing.
func isNone(raw json.RawMessage) bool {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && len(list) == 1 {
		raw = list[0]
	}
	return slices.Contains(noneWords, word(raw))
}

// readYes reads true or false, also as words for them; nothing is false.
func readYes(raw json.RawMessage) (bool, error) {
	switch text := word(raw); {
	case slices.Contains(yesWords, text):
		return true, nil
	case slices.Contains(noWords, text):
		return false, nil
	}
	return false, errors.New("neither true nor false")
}

// readShare reads a number from 0 to 1, or a percentage: with its sign, or above 1.
func readShare(raw json.RawMessage) (float64, error) {
	text, percent := strings.CutSuffix(word(raw), "%")
	share, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if percent || share > 1 {
		share /= 100
	}
	if err != nil || !(share >= 0 && share <= 1) {
		return 0, errors.New("neither a number from 0 to 1 nor a percentage")
	}
	return share, nil
}
