package entity

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"reverie/internal/llm/llmtest"
	"reverie/internal/text"
	"reverie/prompts"
)

// observer is a model that reads plain sentences, and believes whatever they say:
// what a bot writes, too. Its answer follows from the question alone.
func observer(t testing.TB) func(llmtest.Request) llmtest.Answer {
	return func(r llmtest.Request) llmtest.Answer { return llmtest.Text(observe(readQuestion(t, r))) }
}

func readQuestion(t testing.TB, r llmtest.Request) (q prompts.ObserveUser) {
	if err := json.Unmarshal([]byte(r.User), &q); err != nil {
		t.Errorf("the user part is no JSON object: %v\n%s", err, r.User)
	}
	return q
}

// sentence is a form of words and what it says: $who is its subject, empty for
// the author.
type sentence struct {
	form *regexp.Regexp
	says map[string]string // aspect -> template
}

var sentences = []sentence{
	{regexp.MustCompile(`^I (?:live in|moved to) (?P<what>[\p{L}\p{N}]+)$`), map[string]string{"city": "${what}"}},
	{regexp.MustCompile(`^(?P<who>[\p{L}\p{N}]+) (?:lives in|moved to) (?P<what>[\p{L}\p{N}]+)$`), map[string]string{"city": "${what}"}},
	{regexp.MustCompile(`^I like (?P<what>.+)$`), map[string]string{"text": "likes ${what}"}},
	{regexp.MustCompile(`^(?P<who>[\p{L}\p{N}]+) likes (?P<what>.+)$`), map[string]string{"text": "likes ${what}"}},
	{regexp.MustCompile(`^(?:call me|叫我) ?(?P<what>.+)$`), map[string]string{"alias": "${what}"}},
	{regexp.MustCompile(`^(?P<who>[\p{L}\p{N}]+) is my (?P<what>[\p{L}\p{N}]+)$`), map[string]string{"relation": "${what} of"}},
	{regexp.MustCompile(`^我(?:住在|搬到了)(?P<what>.+)$`), map[string]string{"城市": "${what}"}},
	{regexp.MustCompile(`^(?P<who>.+)(?:住在|搬到了)(?P<what>.+)$`), map[string]string{"城市": "${what}"}},
	{regexp.MustCompile(`^我喜欢(?P<what>.+)$`), map[string]string{"text": "喜欢${what}"}},
	{regexp.MustCompile(`^(?P<who>[\p{L}\p{N}]+) eats (?P<what>.+), our cat$`), map[string]string{"thing": "eats ${what}"}},
}

// observe answers a question.
func observe(q prompts.ObserveUser) string {
	var b strings.Builder
	for _, m := range q.Messages {
		for _, s := range sentences {
			match := s.form.FindStringSubmatchIndex(m.Text)
			if match == nil {
				continue
			}
			name := m.Author
			if at := s.form.SubexpIndex("who"); at > 0 {
				name = whoIs(q, m.Text[match[2*at]:match[2*at+1]])
			} else if !listed(q, name) { // observed elsewhere
				break
			}
			line := map[string]any{"subject": name, "kind": "person", "reason": m.Author + " said so", "confidence": 0.9,
				"evidence": []map[string]any{{"message": m.ID, "quote": m.Text}}}
			for aspect, template := range s.says {
				said := string(s.form.ExpandString(nil, template, m.Text, match))
				switch aspect {
				case "text":
					line["impressions"] = []any{map[string]string{"text": said}}
				case "thing":
					line["kind"], line["impressions"] = "thing", []any{map[string]string{"text": said}}
				case "alias":
					line["aliases"] = []string{said}
				case "relation":
					line["relations"] = []any{map[string]string{"kind": said, "target": m.Author}}
				default:
					line["features"] = []any{map[string]string{"key": aspect, "value": said}}
				}
			}
			raw, err := json.Marshal(line)
			if err != nil {
				panic(err) // strings and numbers always encode
			}
			b.Write(append(raw, '\n'))
			break
		}
	}
	if b.Len() == 0 {
		return `{"none":true}`
	}
	return b.String()
}

func listed(q prompts.ObserveUser, name string) bool {
	for _, s := range q.Subjects {
		if s.Name == name {
			return true
		}
	}
	return false
}

// whoIs finds the one subject that bears a name; where there are several it is
// left open.
func whoIs(q prompts.ObserveUser, name string) string {
	found := map[string]bool{}
	for _, s := range q.Subjects {
		for _, other := range s.Namesakes {
			if withoutNumber(other) == text.NameKey(name) {
				found[other] = true
			}
		}
		for _, known := range append([]string{s.Name}, s.Aliases...) {
			if withoutNumber(known) == text.NameKey(name) {
				found[s.Name] = true
			}
		}
	}
	if len(found) != 1 {
		return name
	}
	return slices.Collect(maps.Keys(found))[0]
}
