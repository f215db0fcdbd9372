package entity

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clause is a part of a message between two marks, and the sentence that it
// stands in.
type clause struct {
	text     string // as in [textForm]
	words    string // its letters and numbers alone
	sentence int    // from 0
}

// clauses divides a text.
func clauses(text string) (list []clause) {
	from, sentence := 0, 0
	for i, r := range text + "\n" {
		next, _ := utf8.DecodeRuneInString(text[min(i+1, len(text)):])
		ends := strings.ContainsRune("!?！？。…;；\n", r) || r == '.' && (i+1 == len(text) || unicode.IsSpace(next))
		if !ends && !strings.ContainsRune(",，", r) {
			continue
		}
		said := textForm(text[from:i])
		if words := strings.Join(strings.FieldsFunc(said, func(r rune) bool { return !isLetter(r) }), " "); words != "" {
			list = append(list, clause{said, words, sentence})
		}
		from = i + utf8.RuneLen(r)
		if ends {
			sentence++
		}
	}
	return list
}

// quoted returns those clauses of a text that a quote begins, ends or stands in, and
// the whole of their sentences. Where it is not plain which those are, they are
// all of them.
func quoted(quote string, all []clause) (own []string, sentences string) {
	parts, at := clauses(quote), all
	for i := 0; i+len(parts) <= len(all); i++ {
		if fits(parts, all[i:]) {
			at = all[i : i+len(parts)]
			break
		}
	}
	var whole []string
	for _, c := range all {
		if at[0].sentence <= c.sentence && c.sentence <= at[len(at)-1].sentence {
			whole = append(whole, c.text)
		}
	}
	for _, c := range at {
		own = append(own, c.text)
	}
	return own, strings.Join(whole, ", ")
}

// fits tells whether the parts of a quote are the first clauses of a text, of
// which it may leave out the beginning and the end.
func fits(parts, all []clause) bool {
	for k, part := range parts {
		words := all[k].words
		switch first, last := k == 0, k == len(parts)-1; {
		case first && last && strings.Contains(words, part.words),
			first && !last && strings.HasSuffix(words, part.words),
			!first && last && strings.HasPrefix(words, part.words),
			!first && !last && words == part.words:
		default:
			return false
		}
	}
	return len(parts) > 0
}
