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

	"reverie"
	"reverie/llm/lines"
)

// typeSummary is no type of item: the line with the narrative.
const typeSummary = "summary"

// parse turns the objects of an answer into proposals and a narrative. A line that is
// an object but neither is refused, and so is a second narrative.
func parse(read lines.Result) (a answer) {
	for _, l := range read.Lines {
		p, err := readLine(l)
		switch {
		case err != nil:
			a.refused = append(a.refused, reverie.Refusal{Line: l.No, Action: reverie.Excerpt(string(p.sort), 20), Rule: ruleForm, Detail: err.Error()})
		case p.sort != typeSummary:
			a.proposals = append(a.proposals, p)
		case a.narrative != nil:
			a.refused = append(a.refused, reverie.Refusal{Line: l.No, Action: typeSummary, Rule: ruleRepeated, Detail: "the answer has given its summary already"})
		default:
			a.narrative = &narrative{line: l.No, content: p.content, sources: p.sources}
		}
	}
	return a
}

// readLine reads one object: an item, or the narrative as one of type summary.
func readLine(l lines.Line) (proposal, error) {
	var raw struct {
		Type       *string         `json:"type"`
		Content    *string         `json:"content"`
		Sources    json.RawMessage `json:"sources"`
		Confidence json.RawMessage `json:"confidence"`
		Tags       json.RawMessage `json:"tags"`
		Replace    json.RawMessage `json:"replace"`
		Done       json.RawMessage `json:"done"`
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
		return p, fmt.Errorf("type %q is none of summary, preference, theme, todo", reverie.Excerpt(string(p.sort), 20))
	}
	if raw.Content == nil || strings.TrimSpace(*raw.Content) == "" {
		return p, errors.New(`no "content"`)
	}
	p.content = strings.TrimSpace(*raw.Content)
	var err error
	if p.sources, err = readHandles(raw.Sources); err != nil {
		return p, fmt.Errorf("sources: %w", err)
	}
	if p.sort == typeSummary {
		return p, nil
	}
	_ = json.Unmarshal(raw.Tags, &p.tags) // tags are decoration: those that are no list of strings are left out
	if p.confidence, err = lines.Share(raw.Confidence); err != nil {
		return p, fmt.Errorf("confidence: %w", err)
	}
	replaced, err := readHandles(raw.Replace)
	switch {
	case err != nil:
		return p, fmt.Errorf("replace: %w", err)
	case len(replaced) > 1:
		return p, fmt.Errorf("it replaces %d items: one line replaces one", len(replaced))
	case len(replaced) == 1:
		p.replace = replaced[0]
	}
	if p.done, err = readDone(raw.Done); err != nil {
		return p, fmt.Errorf("done: %w", err)
	}
	return p, nil
}

// readHandles reads a list of handles, or one string that holds several. They come
// folded, so that neither case nor width matters, and without the brackets and quotes
// that models put around them.
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
		text, err := lines.Scalar(one)
		if err != nil {
			return nil, err
		}
		for _, word := range strings.FieldsFunc(reverie.Fold(text), divides) {
			if word = strings.TrimFunc(word, wraps); word != "" {
				handles = append(handles, word)
			}
		}
	}
	return handles, nil
}

// divides tells what stands between two handles.
func divides(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;、", r) }

// wraps tells what stands around a handle.
func wraps(r rune) bool { return strings.ContainsRune("[](){}<>【】「」'\"`“”‘’#.:", r) }

// readDone reads true or false, also as a string; nothing is false.
func readDone(raw json.RawMessage) (bool, error) {
	text := string(bytes.TrimSpace(raw))
	var s string
	if json.Unmarshal(raw, &s) == nil {
		text = strings.ToLower(strings.TrimSpace(s))
	}
	if text == "" || text == "null" {
		return false, nil
	}
	done, err := strconv.ParseBool(text)
	if err != nil {
		return false, errors.New("neither true nor false")
	}
	return done, nil
}
