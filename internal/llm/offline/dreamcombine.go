package offline

import (
	"slices"

	"reverie/internal/reverie"
)

// partial is what one question about a part of the material came to.
type partial struct {
	Summary string `json:"summary"`
	Items   []struct {
		ID         string  `json:"id"`
		Type       string  `json:"type"`
		Content    string  `json:"content"`
		Confidence float64 `json:"confidence"`
		Replace    string  `json:"replace"`
		Done       bool    `json:"done"`
		Keep       bool    `json:"keep"`
	} `json:"items"`
}

// combination is the dream prompt's user part about parts, as far as it is read
// here.
type combination struct {
	parts []partial
}

// readCombination reads the user part of the dream prompt about parts.
func readCombination(q question) (*combination, error) {
	c := &combination{}
	return c, q.read("dream_parts", &c.parts)
}

// lines are the narrative over all parts, then the items of all of them: those that
// say the same are merged, and of two that replace the same item the later counts.
func (c *combination) lines() []insight {
	var found []insight
	var texts []string
	for i, p := range c.parts {
		texts = append(texts, p.Summary)
		for _, it := range p.Items {
			if it.ID == "" || reverie.CheckStatement(it.Content) != nil || it.Type == typeThread && it.Replace == "" && c.doneAfter(i, it.Content) {
				continue
			}
			f := insight{Type: it.Type, Content: it.Content, Replace: it.Replace, Done: it.Done, Keep: it.Keep, Sources: []string{it.ID}, Confidence: it.Confidence}
			f.sense = readSense(f.Content)
			found = merge(found, f)
		}
	}
	for i := range found {
		if found[i].Keep {
			found[i].Content = ""
		}
	}
	content, _ := retell(texts)
	return append([]insight{{Type: string(typeSummary), Content: content}}, surest(found)...)
}

// doneAfter tells whether a part behind one tells that what is to be done was done.
func (c *combination) doneAfter(part int, content string) bool {
	task := taskWords(content)
	return slices.ContainsFunc(c.parts[part+1:], func(p partial) bool {
		return slices.ContainsFunc(splitSentences(p.Summary), func(text string) bool {
			return endsThread(speak(fold(text))) && task.namedIn(taskWords(text))
		})
	})
}
