package offline

import (
	"slices"

	"reverie/internal/reverie"
)

// keep writes a line for each item of earlier dreams that new material bears out, and
// of which nothing else has become.
func (l *lookback) keep(names people) {
	for _, it := range l.items {
		if slices.ContainsFunc(l.found, func(f insight) bool { return f.Replace == it.ID }) {
			continue
		}
		said := it.saidAgain
		if it.Type == typeTheme {
			said = it.comesBack(names)
		}
		f := insight{Type: it.Type, Replace: it.ID, Keep: true, Confidence: sureOfThread}
		for _, m := range l.matters {
			if m.fresh && said(m.text) {
				f.Sources = addSources(f.Sources, []string{m.id})
			}
		}
		if len(f.Sources) > 1 {
			f.Confidence = sureOfSeveral
		}
		if len(f.Sources) > 0 {
			l.found = append(l.found, f)
		}
	}
}

// saidAgain tells whether a sentence of a text says what the item does, or more; of a
// thread, that it is still open.
func (it earlier) saidAgain(text string) bool {
	return slices.ContainsFunc(splitSentences(text), func(sentence string) bool {
		t := speak(fold(sentence))
		if !lasting(t) || it.Type == typeThread && (!opensThread(t) || marksHedge.in(t)) {
			return false
		}
		switch (insight{Type: it.Type, Content: sentence, sense: readSense(sentence)}).against(it) {
		case reverie.RelationDuplicate, reverie.RelationUpdate:
			return true
		}
		return false
	})
}

// comesBack tells of a text whether it speaks of what the theme is about: of its
// longest topic, or of two of those where it has several.
func (it earlier) comesBack(names people) func(text string) bool {
	var keys []string
	var longest float64
	for _, t := range topicsIn(themeOf(it.Content), names) {
		if t.weight > longest {
			keys, longest = nil, t.weight
		}
		if t.weight == longest {
			keys = append(keys, t.key)
		}
	}
	return func(text string) bool {
		shared := 0
		for _, t := range topicsIn(text, names) {
			if slices.Contains(keys, t.key) {
				shared++
			}
		}
		return shared > 0 && shared >= min(len(keys), 2)
	}
}
