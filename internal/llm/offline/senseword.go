package offline

import (
	"fmt"
	"strings"
	"unicode"

	"reverie/internal/lazyregexp"
)

// headPlace is the head of phrases that say where or when.
const headPlace = "@"

var (
	// heads begin a phrase, and how it is then called. Those that only join what
	// is said have no name.
	heads = func() map[string]string {
		m := map[string]string{"and": "", "in": headPlace, "at": headPlace, "on": headPlace}
		for _, w := range strings.Fields(`with for as to from by over than into about against behind under above through via or but if unless except
			because since so until till before after when while whenever though although instead`) {
			m[w] = w
		}
		return m
	}()
	// addingHeads begin phrases that take nothing back from what stands before.
	addingHeads = map[string]bool{"": true, headPlace: true, "with": true, "as": true, "because": true, "so": true, "since": true, "by": true}

	// emptyWords may be left out of a statement.
	emptyWords = wordSet(`a an the is are am be being been do does that of there it's its' s just already now currently usually normally
		together too please`)
	// limitingWords and limitingDense make of a phrase more than an addition.
	limitingWords = wordSet(`only maybe perhaps might may could would if unless except but or joke joking kidding wrong false untrue lie formerly was were
		had did used said think thinks guess supposedly apparently`)
	limitingDense = strings.Fields("如果 要是 除非 除了 但 只 或 不过 才 否则 假如 可能 据说 以前 之前 曾经 开玩笑 骗 假")

	deniers = map[string]string{"not": "not", "no": "not", "never": "never", "nobody": "nobody", "none": "none", "neither": "neither", "nor": "nor",
		"without": "without", "hardly": "hardly", "rarely": "rarely", "seldom": "seldom", "barely": "hardly", "nolonger": "ended", "stop": "ended",
		"stops": "ended", "stopped": "ended", "quit": "ended", "quits": "ended", "formerly": "ended", "former": "ended", "dont": "not"}
	// opposites are verbs that deny another one.
	opposites = map[string][2]string{"dislike": {"not", "like"}, "dislikes": {"not", "like"}, "hate": {"hate", "like"}, "hates": {"hate", "like"},
		"forbidden": {"not", "allowed"}, "banned": {"not", "allowed"}, "disallowed": {"not", "allowed"}}

	// timeWords are details wherever they stand.
	timeWords = map[string]struct {
		kind  detailKind
		value string
	}{
		"daily": {detailFrequency, "day"}, "weekly": {detailFrequency, "week"}, "monthly": {detailFrequency, "month"}, "yearly": {detailFrequency, "year"},
		"annually": {detailFrequency, "year"}, "biweekly": {detailFrequency, "biweek"}, "morning": {detailDaypart, "morning"},
		"noon": {detailDaypart, "noon"}, "afternoon": {detailDaypart, "afternoon"}, "evening": {detailDaypart, "evening"}, "night": {detailDaypart, "evening"},
		"midnight": {detailDaypart, "midnight"},
	}
	halfOf = map[string]string{"morning": "a", "midnight": "a", "afternoon": "p", "evening": "p"}

	// numberedThings are told apart by the number behind them.
	numberedThings = wordSet(`room floor building team group line chapter part court table level channel gate bus route flight day season episode issue
		volume step phase stage page figure number unit flat apartment track server node player seat highway class grade no`)
)

// phrase is a turn of phrase that is put more simply before a text is read.
type phrase struct {
	pattern *lazyregexp.Regexp
	plain   string
}

var phrases = func() []phrase {
	var out []phrase
	for _, p := range [][2]string{
		{`\b(?:do|does|is|are)(?:n['’]t| not)\b([^.,;]*?) any ?more\b`, "nolonger$1"},
		{`\bno longer\b`, "nolonger"},
		{`\bused to\b`, "formerly"},
		{`\b(?:gave|given|gives) up\b`, "stopped"},
		{`\bcan ?not\b`, "can not"},
		{`\b(?:has|have|needs?) to\b`, "must"},
		{`\b(?:in|within) (?:this|our|the) (?:group|channel|chat)\b`, " "},
		{`\b(?:the|our|this) group(?: regularly)? (?:plays?|has|meets for|gets together for)\b|\b(?:we|the members|members)(?: regularly)? (?:play|have|meet for|get together for)\b`, " "},
		{`\b(?:the|our|this) group(?:['’]s)?\b`, " "},
		{`\b(?:we(?:['’](?:re|ve|ll|d))?|our)\b`, " "},
		{`\b(?:takes?|taking) place\b|\b(?:is|are) held\b|\bhappens?\b`, " "},
		{`\b(?:every|each) day\b`, "daily"},
		{`\b(?:every|each) (morning|afternoon|evening|night)\b`, "daily $1"},
		{`\b(?:every|each) (week|month)\b`, "${1}ly"},
		{`\b(?:every|each) year\b`, "yearly"},
		{`\bonce an? (week|month)\b`, "${1}ly"},
		{`\b(mon|tue|tues|thu|thur|thurs|fri)\b\.?`, "$1@day"},
		{`\b(\d{1,2}) ?o['’]clock\b`, "$1:00"},
		{`每(?:周|星期)([一二两三四五])次`, "每周 $1次"},
	} {
		out = append(out, phrase{lazyregexp.New(p[0]), p[1]})
	}
	for hour, word := range numberWords[1:] {
		out = append(out, phrase{lazyregexp.New(`\bhalf past ` + word + `\b`), fmt.Sprintf("%d:30", hour+1)})
	}
	return out
}()

var (
	shortDays = strings.NewReplacer("mon@day", "monday", "tues@day", "tuesday", "tue@day", "tuesday", "thurs@day", "thursday", "thur@day", "thursday",
		"thu@day", "thursday", "fri@day", "friday")
	clauseMark = lazyregexp.New(`[,，;；:：。!！?？、]+|\.(?:\s|$)|\s[-–—]+\s|——`)
	thousands  = lazyregexp.New(`^\d{1,3}(?:,\d{3})+(?:\.\d+)?$`)
	firstWords = lazyregexp.New(`\b(?:i['’]?m|i['’]ve|i['’]ll|i['’]d|i|my|mine|me|im)\b`)
)

// plainPhrases puts turns of phrase more simply.
func plainPhrases(folded string) string {
	for _, p := range phrases {
		folded = p.pattern.ReplaceAllString(folded, p.plain)
	}
	return shortDays.Replace(folded)
}

// ofSpeaker puts a folded text in the first person into the third. What does not
// speak of the speaker stays marked as his or her words.
func ofSpeaker(name, folded string) string {
	third := strings.ReplaceAll(firstWords.ReplaceAllLiteralString(folded, name), "我", name)
	if third == folded {
		return name + " says " + folded
	}
	return third
}

// spellFigures keeps small figures from being folded into others: 10² is not
// 102.
func spellFigures(s string) string {
	if !strings.ContainsFunc(s, isSmallFigure) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if isSmallFigure(r) {
			fmt.Fprintf(&b, " figure%x ", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func isSmallFigure(r rune) bool { return r > 0x7F && unicode.Is(unicode.No, r) }

// symbolsOf returns the signs of a folded text that mean something, in order.
func symbolsOf(folded string) string {
	var b strings.Builder
	runes := []rune(folded)
	at := func(i int) rune {
		if i < 0 || i >= len(runes) {
			return ' '
		}
		return runes[i]
	}
	for i, r := range runes {
		before, after := at(i-1), at(i+1)
		switch {
		case r == '%' && (unicode.IsDigit(before) || before == ' '): // a unit, see slotPattern
		case r == '-' || r >= '‐' && r <= '―' || r == '−':
			if unicode.IsDigit(after) {
				b.WriteByte('-')
			}
		case r == '.':
			if !unicode.IsLetter(before) && !unicode.IsDigit(before) && (unicode.IsLetter(after) || unicode.IsDigit(after)) {
				b.WriteByte('.')
			}
		case unicode.IsSymbol(r) && r != '`' && r != '´', strings.ContainsRune(`_/#%&*@\‰`, r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// word reads a word, or a number that is none of the slots.
func (r *senseReader) word(w string) {
	if rest, ok := strings.CutSuffix(w, "n't"); ok {
		switch rest {
		case "ca":
			r.put("can")
		case "wo":
			r.put("will")
		case "do", "does", "is", "are":
		case "was", "were":
			r.put("was")
		default:
			r.put(rest)
		}
		r.deny("not")
		return
	}
	for _, ending := range []string{"'s", "'re", "'ve", "'ll", "'d", "'m", "'"} {
		w = strings.TrimSuffix(w, ending)
	}
	if r.capitals[w] {
		r.put(w)
		return
	}
	if emptyWords[w] {
		return
	}
	if head, ok := heads[w]; ok {
		r.begin(head)
		return
	}
	if d, ok := timeWords[strings.TrimSuffix(w, "s")]; ok {
		r.dropEach()
		r.detail(d.kind, d.value)
		return
	}
	if o, ok := opposites[w]; ok {
		r.deny(o[0])
		w = o[1]
	} else if d, ok := deniers[w]; ok {
		r.deny(d)
		return
	}
	if w == "were" {
		w = "was"
	}
	if !r.names[w] {
		w = plainForm(w)
	}
	r.put(w)
}

// plainForm cuts the endings of number and of the present tense: "plays" and
// "playing" are "play". The past stays the past.
func plainForm(w string) string {
	switch w {
	case "has", "having":
		return "have"
	case "goes", "going":
		return "go"
	}
	if len(w) <= 3 {
		return w
	}
	w = singular(w)
	if n := len(w); n > 5 && strings.HasSuffix(w, "ing") {
		if w = undouble(w[:n-3]); hasAnySuffix(w, "v", "c", "z", "us", "ak", "rit") {
			w += "e"
		}
	}
	return w
}

// capitalized finds the words of a text that begin with a capital letter, as
// names do, and the short ones in capitals that are another word in small ones:
// IT, US, A.
var (
	capitalized = lazyregexp.New(`\b[A-Z][a-z]+\b`)
	capitals    = lazyregexp.New(`\b[A-Z]{1,3}\b`)
)

// readNames notes how words are written before case is folded.
func (r *senseReader) readNames(text string) {
	r.names, r.capitals = make(map[string]bool), make(map[string]bool)
	for _, w := range capitalized.FindAllString(text, -1) {
		r.names[strings.ToLower(w)] = true
	}
	if !strings.ContainsFunc(text, unicode.IsLower) {
		return // all of it is in capitals
	}
	for _, at := range capitals.FindAllStringIndex(text, -1) {
		if w := text[at[0]:at[1]]; w != "I" && at[0] > 0 {
			r.capitals[strings.ToLower(w)] = true
		}
	}
}
