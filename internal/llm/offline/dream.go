package offline

import (
	"slices"
	"strings"
	"unicode/utf8"

	"reverie/internal/reverie"
	"reverie/internal/safety"
	texts "reverie/internal/text"
)

// insight is one line of the answer to dream.
type insight struct {
	Type       string   `json:"type"`
	Content    string   `json:"content,omitempty"`
	Replace    string   `json:"replace,omitempty"`
	Done       bool     `json:"done,omitempty"`
	Keep       bool     `json:"keep,omitempty"`
	Sources    []string `json:"sources,omitempty"`
	Confidence float64  `json:"confidence,omitempty"`
}

// item is what an earlier dream, or a part of this one, left. Its own sources are a
// number: what rests on it names the item.
type item struct {
	insight
	ID      string `json:"id"`
	Sources any    `json:"sources"`
}

// Bounds of a dream.
const (
	maxInsights = 10
	maxSources  = 8
	sureOfFact  = 0.8
)

// dreamQuestion is the user part of dream.
type dreamQuestion struct {
	Items    []item `json:"dream_items"`
	Sessions []struct {
		ID      string `json:"id"`
		Summary string `json:"summary"`
		Facts   []struct {
			ID        string   `json:"id"`
			Type      factType `json:"type"`
			Statement string   `json:"statement"`
		} `json:"facts"`
	} `json:"dream_sessions"`
	Memories []memory `json:"group_memories"` // they take no part
}

// dream answers dream: preferences and open threads are facts that say so.
func dream(q dreamQuestion) []insight {
	var summaries []string
	var found []insight
	for _, s := range q.Sessions {
		summaries = append(summaries, s.Summary)
		for _, f := range s.Facts {
			of := insight{Content: f.Statement, Sources: []string{f.ID}, Confidence: sureOfFact}
			switch {
			case len(words().Todos.in(readSentence(f.Statement))) > 0:
				of.Type = string(reverie.DreamTodo)
			case f.Type == typePreference:
				of.Type = string(reverie.DreamPreference)
			}
			known := slices.ContainsFunc(q.Items, func(old item) bool { return sameWords(old.Content, f.Statement) })
			if of.Type != "" && !known && safety.CheckStatement(f.Statement) == nil {
				found = append(found, of)
			}
		}
	}
	return append([]insight{narrative(summaries)}, merged(found)...)
}

// combine answers dream about parts: all that they came to, each once.
func combine(q struct {
	Parts []struct {
		Summary string `json:"summary"`
		Items   []item `json:"items"`
	} `json:"dream_parts"`
}) []insight {
	var summaries []string
	var found []insight
	for _, p := range q.Parts {
		summaries = append(summaries, p.Summary)
		for _, it := range p.Items {
			f := it.insight
			f.Sources = []string{it.ID}
			if it.ID != "" && (f.Keep || safety.CheckStatement(f.Content) == nil) {
				found = append(found, f)
			}
		}
	}
	return append([]insight{narrative(summaries)}, merged(found)...)
}

// merged are items each once, with the sources of all that say the same; of those that
// replace one item, the last.
func merged(found []insight) []insight {
	var out []insight
	for _, f := range found {
		at := slices.IndexFunc(out, func(o insight) bool {
			return f.Type == o.Type && (f.Replace != "" && f.Replace == o.Replace ||
				f.Replace == o.Replace && f.Content != "" && sameWords(f.Content, o.Content))
		})
		if at < 0 {
			out = append(out, f)
			continue
		}
		for _, s := range out[at].Sources {
			if !slices.Contains(f.Sources, s) && len(f.Sources) < maxSources {
				f.Sources = append(f.Sources, s)
			}
		}
		out[at] = f
	}
	return out[:min(len(out), maxInsights)]
}

// narrative is the first sentence of each summary, the newest where room is short.
func narrative(summaries []string) insight {
	var firsts []string
	for _, summary := range summaries {
		if list := splitSentences(summary, 1); len(list) > 0 && safety.CheckStatement(list[0]) == nil {
			firsts = append(firsts, list[0])
		}
	}
	text := newest(firsts, reverie.MaxStatement)
	if text == "" {
		text = "There was nothing to tell."
	}
	return insight{Type: string(typeSummary), Content: text}
}

// newest joins the last of the parts, as many as there is room for.
func newest(parts []string, limit int) (text string) {
	for _, p := range slices.Backward(parts) {
		next := strings.TrimSpace(p + " " + text)
		if utf8.RuneCountInString(next) > limit {
			break
		}
		text = next
	}
	return text
}

// opinion is one line of the answer to memory_compare.
type opinion struct {
	ID       string           `json:"id"`
	Reason   string           `json:"reason"`
	Relation reverie.Relation `json:"relation"`
}

// compare answers memory_compare: a statement in the same words is a duplicate, all else
// is unrelated.
func compare(q struct {
	Fact       memory   `json:"fact"`
	Candidates []memory `json:"candidates"`
}) []opinion {
	var out []opinion
	for _, c := range q.Candidates {
		o := opinion{c.ID, "the words differ", reverie.RelationUnrelated}
		if sameWords(q.Fact.Statement, c.Statement) {
			o.Reason, o.Relation = "the same words", reverie.RelationDuplicate
		}
		out = append(out, o)
	}
	return out
}

// sameWords tells whether two statements are the same but for articles and the like,
// case, width, spaces and punctuation.
func sameWords(a, b string) bool {
	return texts.ContentHash(withoutFillers(a)) == texts.ContentHash(withoutFillers(b))
}

func withoutFillers(statement string) string {
	kept := slices.DeleteFunc(strings.Fields(strings.ReplaceAll(statement, "的", "")),
		func(w string) bool { return words().fillers[strings.ToLower(w)] })
	return strings.Join(kept, " ")
}
