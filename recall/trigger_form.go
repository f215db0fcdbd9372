package recall

import (
	"strings"
	"unicode"

	"reverie"
)

// maxQueryForm is how much of a query is embedded, in characters.
const maxQueryForm = 2000

// What may stand at the ends of a query without saying anything.
const (
	formHead = " ,，、。!?;:¿¡~…\"'“”‘’「」『』"
	formTail = formHead + "."
)

// courtesies open or close a query and change nothing about what is asked. Longer
// ones stand before those that they begin or end with.
var courtesies = struct{ before, after []string }{
	before: []string{"麻烦问一下", "麻烦问下", "想请问一下", "想请问", "请问一下", "请问下", "请问", "请教一下", "请告诉我", "告诉我", "想问一下", "想问下", "问一下", "问下",
		"你好", "您好", "大家好", "please tell me", "can you tell me", "could you tell me", "do you know", "tell me", "please", "pls", "plz",
		"good morning", "hello", "hey", "hi"},
	after: []string{"谢谢你", "谢谢您", "谢谢啦", "谢谢了", "谢谢", "多谢", "谢啦", "谢了", "感谢", "吗", "呢", "啊", "呀",
		"thank you", "thanks a lot", "thanks", "thx", "please", "pls", "plz"},
}

// queryForm is the text of a query that is embedded. Ways to write one question
// that differ in case, width, spaces, courtesies and what stands at its ends share one
// form, and so one cached vector. A query of nothing else stays as it is.
func queryForm(query string) string {
	folded := closeHan(reverie.Fold(query))
	form := trimForm(folded)
	for before := ""; form != before; {
		before = form
		form = trimForm(withoutCourtesy(form))
	}
	if form == "" {
		form = folded
	}
	if form == "" { // invisible characters alone
		form = query
	}
	if runes := []rune(form); len(runes) > maxQueryForm {
		form = string(runes[:maxQueryForm])
	}
	return form
}

// trimForm takes marks and emoji off the ends.
func trimForm(s string) string {
	s = strings.TrimLeftFunc(s, func(r rune) bool { return strings.ContainsRune(formHead, r) || isEmoji(r) })
	return strings.TrimRightFunc(s, func(r rune) bool { return strings.ContainsRune(formTail, r) || isEmoji(r) })
}

// isEmoji tells pictographs and their skin tones from symbols that say something (C++, 30°).
func isEmoji(r rune) bool { return r >= 0x2190 && unicode.In(r, unicode.So, unicode.Sk) }

// withoutCourtesy takes one courtesy off each end. English ones are whole words.
func withoutCourtesy(s string) string {
	for _, c := range courtesies.before {
		rest, ok := strings.CutPrefix(s, c)
		if ok && (c[0] >= 0x80 || strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, ",")) {
			s = rest
			break
		}
	}
	for _, c := range courtesies.after {
		rest, ok := strings.CutSuffix(s, c)
		if ok && (c[0] >= 0x80 || strings.HasSuffix(rest, " ") || strings.HasSuffix(rest, ",")) {
			return rest
		}
	}
	return s
}

// closeHan drops spaces beside Chinese characters and kana, which have none.
func closeHan(s string) string {
	if !strings.Contains(s, " ") {
		return s
	}
	in := []rune(s)
	out := make([]rune, 0, len(in))
	for i, r := range in {
		if r == ' ' && (i > 0 && isDense(in[i-1]) || i+1 < len(in) && isDense(in[i+1])) {
			continue
		}
		out = append(out, r)
	}
	return string(out)
}

func isDense(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) }
