package offline

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"reverie/internal/reverie"
	"reverie/internal/safety"
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

// item is what an earlier dream, or a part of this one, left.
type item struct {
	ID         string  `json:"id"`
	Type       string  `json:"type"`
	Content    string  `json:"content"`
	Replace    string  `json:"replace"`
	Done       bool    `json:"done"`
	Keep       bool    `json:"keep"`
	Confidence float64 `json:"confidence"`
}

// Bounds of a dream.
const (
	maxInsights   = 10
	maxThemes     = 3
	themeSessions = 3 // in which a word comes up
	maxSources    = 8
	sureOfFact    = 0.8
)

// dreamSession is what is new of one session.
type dreamSession struct {
	ID      string `json:"id"`
	Summary string `json:"summary"`
	Facts   []struct {
		ID        string   `json:"id"`
		Type      factType `json:"type"`
		Statement string   `json:"statement"`
	} `json:"facts"`
}

// dream answers dream: preferences and open threads are facts that say so, and themes
// are words that several sessions have in common.
func dream(q question) ([]insight, error) {
	var items []item
	var sessions []dreamSession
	var memories []memory // they take no part
	if err := errors.Join(q.read("dream_items", &items), q.read("dream_sessions", &sessions),
		q.read("group_memories", &memories)); err != nil {
		return nil, err
	}
	var summaries []string
	var found []insight
	for _, s := range sessions {
		summaries = append(summaries, s.Summary)
		for _, f := range s.Facts {
			kind := ""
			switch {
			case len(words().Todos.in(readSentence(f.Statement))) > 0:
				kind = string(reverie.DreamTodo)
			case f.Type == typePreference:
				kind = string(reverie.DreamPreference)
			}
			if kind != "" {
				found = append(found, insight{Type: kind, Content: f.Statement, Sources: []string{f.ID}, Confidence: sureOfFact})
			}
		}
	}
	found = append(found, themes(sessions)...)
	found = slices.DeleteFunc(found, func(f insight) bool {
		return safety.CheckStatement(f.Content) != nil ||
			slices.ContainsFunc(items, func(old item) bool { return sameWords(old.Content, f.Content) })
	})
	return append([]insight{narrative(summaries)}, merged(found)...), nil
}

// combine answers dream about parts: all that they came to, each once.
func combine(q question) ([]insight, error) {
	var parts []struct {
		Summary string `json:"summary"`
		Items   []item `json:"items"`
	}
	if err := q.read("dream_parts", &parts); err != nil {
		return nil, err
	}
	var summaries []string
	var found []insight
	for _, p := range parts {
		summaries = append(summaries, p.Summary)
		for _, it := range p.Items {
			f := insight{Type: it.Type, Content: it.Content, Replace: it.Replace, Done: it.Done, Keep: it.Keep,
				Sources: []string{it.ID}, Confidence: it.Confidence}
			if it.ID != "" && (f.Keep || safety.CheckStatement(f.Content) == nil) {
				found = append(found, f)
			}
		}
	}
	return append([]insight{narrative(summaries)}, merged(found)...), nil
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

// themes are the words that most sessions have in common.
func themes(sessions []dreamSession) []insight {
	in := map[string][]string{} // sessions by word
	for _, s := range sessions {
		if s.ID == "" {
			continue
		}
		for _, w := range keywords(s.Summary) {
			in[w] = append(in[w], s.ID)
		}
	}
	list := slices.SortedFunc(maps.Keys(in), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(in[b]), len(in[a])), cmp.Compare(a, b))
	})
	var out []insight
	for _, w := range list[:min(len(list), maxThemes)] {
		if len(in[w]) < themeSessions {
			break
		}
		content := "Several sessions come back to " + w
		if isDense(w) {
			content = "好几次会话都谈到" + w
		}
		out = append(out, insight{Type: string(reverie.DreamTheme), Content: content,
			Sources: in[w][:min(len(in[w]), maxSources)], Confidence: sureOfFact})
	}
	return out
}

// keywords are the words of a text that may name a subject, each once: of a script
// without spaces, what stands between particles where it is short.
func keywords(text string) []string {
	var out []string
	l := words()
	tokens(fold(text), func(kind script, token string) {
		switch kind {
		case scriptWord:
			if len(token) > 3 && !l.stopWords[token] {
				out = append(out, token)
			}
		case scriptDense:
			for _, piece := range strings.FieldsFunc(token, func(r rune) bool { return l.particles[r] }) {
				if n := utf8.RuneCountInString(piece); n >= 2 && n <= 4 {
					out = append(out, piece)
				}
			}
		}
	})
	slices.Sort(out)
	return slices.Compact(out)
}

// narrative is the first sentence of each summary, the newest where room is short.
func narrative(summaries []string) insight {
	text := ""
	for _, summary := range slices.Backward(summaries) {
		list := splitSentences(summary)
		if len(list) == 0 || safety.CheckStatement(list[0]) != nil {
			continue
		}
		next := strings.TrimSpace(list[0] + " " + text)
		if utf8.RuneCountInString(next) > reverie.MaxStatement {
			break
		}
		text = next
	}
	if text == "" {
		text = "There was nothing to tell."
	}
	return insight{Type: string(typeSummary), Content: text}
}
