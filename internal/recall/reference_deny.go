package recall

import (
	"strings"
	"unicode/utf8"
)

// maxClause is how far ahead the end of a clause or sentence is looked for, in bytes.
const maxClause = 300

// limits follow a negation in Chinese that sets a limit to a number: 不到30天.
var limits = strings.Fields("到 超过 低于 少于 多于 高于 足 满 出 止 晚于 早于 迟于")

// suggests tells whether an English negation that has just been read denies nothing:
// "why not", "why don't", and at the beginning of a question ("Isn't Mina in Rome?").
func (r *reader) suggests(word, before string, begins bool) bool {
	if before == "why" {
		return word == "not" || word == "don't"
	}
	return begins && strings.HasSuffix(word, "n't") && r.asks()
}

// asks tells whether the sentence that is being read ends with a question mark.
func (r *reader) asks() bool {
	ahead := r.rest[:min(len(r.rest), maxClause)]
	end := strings.IndexAny(ahead, "?!。;\n")
	return end >= 0 && ahead[end] == '?' && !strings.Contains(ahead[:end], ". ")
}

// deniesHan takes a negation in Chinese, which has just been read. It denies nothing
// where what is before it stands behind it, too (要不要), nor where it limits a number;
// and a question that ends with 吗 may expect the one or the other.
func (r *reader) deniesHan(size int) {
	before := r.text[:len(r.text)-len(r.rest)-size]
	_, one := utf8.DecodeLastRuneInString(before)
	_, two := utf8.DecodeLastRuneInString(before[:len(before)-one])
	for _, n := range []int{one, one + two} {
		if n > 0 && strings.HasPrefix(r.rest, before[len(before)-n:]) {
			return
		}
	}
	if rest, ok := cutAny(r.rest, limits...); ok {
		next, _ := utf8.DecodeRuneInString(rest)
		if _, figure := numeralsHan[next]; figure || next >= '0' && next <= '9' {
			r.rest = rest
			return
		}
	}
	r.here().denies = true
	ahead := r.rest[:min(len(r.rest), maxClause)]
	if end := strings.IndexAny(ahead, ",。!?;:\n"); end >= 0 {
		ahead = ahead[:end]
	}
	r.denies = r.denies || !strings.HasSuffix(ahead, "吗")
}
