package offline

import (
	"slices"
	"strings"
	"unicode/utf8"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// narrative is the look back: the summaries, or, where there are none, what is new
// besides, shortened evenly until it fits.
func (l *lookback) narrative() insight {
	var texts, ids []string
	for _, pick := range []func(m matter) bool{
		func(m matter) bool { return m.sort == typeSummary },
		func(m matter) bool { return m.fresh },
		func(matter) bool { return true },
	} {
		for _, m := range l.matters {
			if pick(m) {
				texts, ids = append(texts, m.text), append(ids, m.id)
			}
		}
		if len(texts) > 0 {
			break
		}
	}
	content, used := retell(texts)
	var sources []string
	for _, i := range used {
		sources = addSources(sources, ids[i:i+1])
	}
	return insight{Type: string(typeSummary), Content: content, Sources: sources}
}

// retell makes one text of several: the first sentence of each, the newest chosen
// first, then the second of each, and so on while there is room, in the order of
// the texts; what several say in the same words is told once, as the newest says it.
// used are those that it rests on, by index, the newest first.
func retell(texts []string) (content string, used []int) {
	type place struct{ text, sentence int }
	sentences := make([][]string, len(texts))
	longest := 0
	told := map[string]bool{} // by content hash
	for i, body := range slices.Backward(texts) {
		for _, s := range splitSentences(body) {
			if hash := text.ContentHash(s); reverie.CheckStatement(s) == nil && !told[hash] {
				sentences[i], told[hash] = append(sentences[i], s), true
			}
		}
		longest = max(longest, len(sentences[i]))
	}
	var chosen []place
	room := reverie.MaxStatement
	for round := range longest {
		for i, said := range slices.Backward(sentences) {
			if round >= len(said) {
				continue
			}
			if cost := utf8.RuneCountInString(said[round]) + 2; cost <= room { // a mark and a space may come between
				room -= cost
				chosen = append(chosen, place{i, round})
				if !slices.Contains(used, i) {
					used = append(used, i)
				}
			}
		}
	}
	slices.SortFunc(chosen, func(a, b place) int {
		if a.text != b.text {
			return a.text - b.text
		}
		return a.sentence - b.sentence
	})
	for _, p := range chosen {
		content = joinSentences(content, stopped(sentences[p.text][p.sentence]))
	}
	if content == "" || reverie.CheckStatement(content) != nil {
		return quiet(texts), nil
	}
	return content, used
}

// stopped puts a mark behind a sentence that has none.
func stopped(s string) string {
	switch {
	case hasAnySuffix(s, ".", "!", "?", ";", "。", "！", "？", "；", "…"):
		return s
	case isDense(s):
		return s + "。"
	}
	return s + "."
}

// quiet says that there is nothing to tell, in the language of the texts.
func quiet(texts []string) string {
	if text := strings.Join(texts, " "); text != "" && isDense(text) {
		return "群里没有什么可说的。"
	}
	return "There was nothing to tell."
}
