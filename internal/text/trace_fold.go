package text

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// foldedTrace is a text as traces are looked for in it, with the places in the text that
// each rune is of.
type foldedTrace struct {
	text         string
	runes        []rune
	starts, ends []int
	breaks       []bool // of white space: that a line ends there
}

// foldTrace folds a text piece by piece, so that what is found can be cut out of it.
func foldTrace(s string) foldedTrace {
	plain, places := unescapeJSON(s)
	f := foldedTrace{text: s, runes: make([]rune, 0, len(s)), starts: make([]int, 0, len(s)), ends: make([]int, 0, len(s)), breaks: make([]bool, 0, len(s))}
	place := func(i int) int {
		if places == nil {
			return i
		}
		return places[i]
	}
	for at := 0; at < len(plain); {
		end := at + 1
		for end < len(plain) && plain[end] >= utf8.RuneSelf { // a mark may belong to the letter before it
			end++
		}
		if end == at+1 {
			f.add(rune(plain[at]), place(at), place(end))
			at = end
			continue
		}
		var it norm.Iter
		it.InitString(norm.NFKC, plain[at:end])
		for !it.Done() {
			from := at + it.Pos()
			piece := string(it.Next())
			to := at + it.Pos()
			same := piece == plain[from:to]
			for i := 0; i < len(piece); {
				r, size := utf8.DecodeRuneInString(piece[i:])
				if same {
					f.add(r, place(from+i), place(from+i+size))
				} else {
					f.add(r, place(from), place(to))
				}
				i += size
			}
		}
		at = end
	}
	for len(f.runes) > 0 && f.runes[len(f.runes)-1] == ' ' {
		f.cut(0, len(f.runes)-1)
	}
	if len(f.runes) > 0 && f.runes[0] == ' ' {
		f.cut(1, len(f.runes))
	}
	return f
}

func (f *foldedTrace) cut(from, to int) {
	f.runes, f.starts, f.ends, f.breaks = f.runes[from:to], f.starts[from:to], f.ends[from:to], f.breaks[from:to]
}

// add takes a rune that stands at start to end: none if it is not seen, and one for each
// stretch of white space.
func (f *foldedTrace) add(r rune, start, end int) {
	line := false
	switch {
	case unicode.IsSpace(r):
		line = r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029'
		if last := len(f.runes) - 1; last >= 0 && f.runes[last] == ' ' {
			f.breaks[last] = f.breaks[last] || line
			return
		}
		r = ' '
	case unicode.IsControl(r), IsInvisible(r):
		return
	case strings.ContainsRune("“”„‟", r):
		r = '"'
	case strings.ContainsRune("‘’‛ʼ`", r):
		r = '\''
	default:
		r = unicode.ToLower(simplifyRune(simplifiedTable(), r))
	}
	f.runes, f.starts, f.ends, f.breaks = append(f.runes, r), append(f.starts, start), append(f.ends, end), append(f.breaks, line)
}

// unescapeJSON resolves what JSON escapes, with the place in s of each byte; line breaks and
// tabs stay escaped. places is nil where nothing is escaped.
func unescapeJSON(s string) (plain string, places []int) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for at := 0; at < len(s); {
		r, size := escaped(s[at:])
		if size == 0 {
			b.WriteByte(s[at])
			size = 1
		} else {
			b.WriteRune(r)
		}
		for len(places) < b.Len() {
			places = append(places, at)
		}
		at += size
	}
	return b.String(), append(places, len(s))
}

// escaped reads an escape, of two halves if need be; its size is 0 where there is none.
func escaped(s string) (rune, int) {
	if len(s) > 1 && s[0] == '\\' && (s[1] == '"' || s[1] == '/') {
		return rune(s[1]), 2
	}
	r, ok := escapedUnit(s)
	switch {
	case !ok:
		return 0, 0
	case !utf16.IsSurrogate(r):
		return r, 6
	}
	low, ok := escapedUnit(s[6:])
	if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
		return 0, 0
	}
	return r, 12
}

func escapedUnit(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}
