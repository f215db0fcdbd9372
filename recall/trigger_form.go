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

// courtesies open or close a query and change nothing about what is asked.
var courtesies = struct{ before, after []string }{
	before: []string{"请问一下", "请问", "请告诉我", "想问一下", "问一下", "你好", "您好",
		"please tell me", "can you tell me", "could you tell me", "do you know", "please", "hello", "hey", "hi"},
	after: []string{"谢谢你", "谢谢", "多谢", "吗", "呢", "啊", "呀", "thank you", "thanks", "please"},
}

// queryForm is the text of a query that is embedded. Ways to write one question
// that differ in case, width, spaces, courtesies and the marks at its ends share one
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

func trimForm(s string) string { return strings.TrimRight(strings.TrimLeft(s, formHead), formTail) }

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
