package decide

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"reverie/internal/llm"
	"reverie/internal/llm/answer"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// validation is the result of checking an answer, besides the verdicts, which are set on their candidates.
type validation struct {
	open    []*candidate // without a verdict, or with one that the model must confirm
	again   []string     // what to tell the model about them in the second question
	failure string       // why the first of them has no verdict
	notes   []string     // for the log: what was dropped
}

// verdict is one line of an answer that has the right form.
type verdict struct {
	relation reverie.Relation
	reason   string
	merged   string
}

// validate reads an answer about the open candidates. Each must get exactly one valid verdict; lines on other handles
// are dropped. A verdict may ignore a differing number, weekday or negation. Then the model must confirm it, after the
// second question has named the difference; warned reports that it has.
func (d *planner) validate(f *fact, open []*candidate, resp llm.Response, warned bool) (v validation) {
	verdicts, broken := map[string]verdict{}, map[string]string{}
	if whole := unusable(resp); whole != "" {
		for _, c := range open {
			broken[c.handle] = whole
		}
	} else {
		v.notes = d.readVerdicts(f, open, resp.Text, verdicts, broken)
	}
	for _, c := range open {
		given, ok := verdicts[c.handle]
		why := broken[c.handle]
		if !ok && why == "" {
			why = "there was no line with this id"
		}
		differs := difference(f.Statement, c.Statement)
		if why != "" {
			v.reopen(c, why, differs)
			continue
		}
		if over := passesOver(given, differs); over != "" && !warned {
			v.open = append(v.open, c)
			v.again = append(v.again, fmt.Sprintf("%s: you said %q, but %s; say it again only if it holds in "+
				"spite of that", c.handle, given.relation, over))
			v.failure = "a verdict over a difference was not given twice"
			continue
		}
		c.Relation, c.Reason, c.Merged = given.relation, given.reason, given.merged
	}
	return v
}

// reopen marks a candidate for the second question, with what was wrong.
func (v *validation) reopen(c *candidate, why string, differs []text.Detail) {
	v.open = append(v.open, c)
	note := c.handle + ": " + why
	if len(differs) > 0 {
		note += "; mind that " + describe(differs)
	}
	v.again = append(v.again, note)
	if v.failure == "" {
		v.failure = why
	}
}

// passesOver returns the differences that a verdict ignores. A duplicate ignores all of them, an update those that its
// merged statement does not keep.
func passesOver(given verdict, differs []text.Detail) string {
	switch given.relation {
	case reverie.RelationUpdate:
		differs = missing(differs, marks(given.merged))
	case reverie.RelationDuplicate:
	default:
		return ""
	}
	return describe(differs)
}

// unusable returns why a whole answer cannot be used, "" if it can.
func unusable(resp llm.Response) string {
	switch {
	case resp.Finish == llm.FinishLength:
		return "the answer was cut off; keep the reasons short"
	case resp.Finish == llm.FinishRefused:
		return "there was no answer"
	case resp.Finish != llm.FinishStop:
		return "the answer stopped for an unknown reason"
	case strings.TrimSpace(resp.Text) == "":
		return "the answer was empty"
	}
	return ""
}

// readVerdicts sorts the lines of an answer by handle. Several lines on one handle must all be valid and say the same.
func (d *planner) readVerdicts(f *fact, open []*candidate, said string, verdicts map[string]verdict,
	broken map[string]string) (notes []string) {
	known := map[string]*candidate{}
	for _, c := range open {
		known[c.handle] = c
	}
	read := answer.Read(said)
	for _, skip := range read.Skipped {
		notes = append(notes, fmt.Sprintf("line %d: %s", skip.No, skip.Reason))
	}
	for _, l := range read.Lines {
		handle, given, err := readVerdict(l)
		c := known[handle]
		if c == nil {
			notes = append(notes, fmt.Sprintf("line %d: no candidate has the id %q", l.No, text.Excerpt(handle, 20)))
			continue
		}
		if err == nil {
			err = d.checkMerged(f, c, given)
		}
		before, twice := verdicts[handle]
		switch {
		// the result must not depend on the order of the lines
		case err != nil && (broken[handle] == "" || err.Error() < broken[handle]):
			broken[handle] = err.Error()
		case err != nil:
		case twice && (before.relation != given.relation ||
			text.ContentHash(before.merged) != text.ContentHash(given.merged)):
			broken[handle] = "there were different verdicts on this id; give one"
		case !twice || given.reason+given.merged < before.reason+before.merged:
			verdicts[handle] = given
		}
	}
	return notes
}

// readVerdict reads one object of an answer. It returns the handle also beside an error.
func readVerdict(l answer.Line) (handle string, v verdict, err error) {
	var raw answer.Verdict
	if err := json.Unmarshal(l.Object, &raw); err != nil {
		return "", v, fmt.Errorf("the line is no verdict: %w", err)
	}
	word := func(raw json.RawMessage) string {
		var s string
		_ = json.Unmarshal(raw, &s) // anything but a string counts as empty
		return strings.TrimSpace(s)
	}
	handle = strings.ToLower(word(raw.ID))
	v.relation = reverie.Relation(strings.ToLower(word(raw.Relation)))
	v.reason = safety.CleanReason(word(raw.Reason))
	switch v.relation {
	case reverie.RelationUpdate:
		if v.merged = word(raw.Statement); v.merged == "" {
			return handle, v, errors.New(`an update needs the merged statement in "statement"`)
		}
	case reverie.RelationDuplicate, reverie.RelationConflict, reverie.RelationUnrelated:
	default:
		return handle, v, errors.New(`"relation" must be duplicate, update, conflict or unrelated`)
	}
	if v.reason == "" {
		return handle, v, errors.New(`"reason" is missing`)
	}
	return handle, v, nil
}

// checkMerged checks a merged statement by the rules of statements, and against the two originals. It must have all
// that both say, and nothing that neither says.
func (d *planner) checkMerged(f *fact, c *candidate, v verdict) error {
	if v.relation != reverie.RelationUpdate {
		return nil
	}
	if broken := (*safety.StatementError)(nil); errors.As(safety.CheckStatement(v.merged), &broken) {
		return fmt.Errorf("the merged statement is refused (%s): %s", broken.Rule, broken.Detail)
	}
	switch d.entryWithHash(text.ContentHash(v.merged)) {
	case nil:
	case c.entry:
		return errors.New("the merged statement says no more than the memory; if it need not, this is a duplicate")
	default:
		return errors.New("another memory says the merged statement already")
	}
	ours, theirs, merged := marks(f.Statement), marks(c.Statement), marks(v.merged)
	invented := slices.DeleteFunc(missing(merged, slices.Concat(ours, theirs)),
		func(m text.Detail) bool { return headcount.MatchString(m.Text) })
	if len(invented) > 0 {
		return fmt.Errorf("the merged statement has %s, which stands in neither of the two", invented[0])
	}
	if lost := missing(shared(ours, theirs), merged); len(lost) > 0 {
		return fmt.Errorf("the merged statement lacks %s, which both of the two have", lost[0])
	}
	if 2*overlap(v.merged, f.Statement+" "+c.Statement) < 1 {
		return errors.New("the merged statement mostly stands in neither of the two")
	}
	return nil
}

// headcount matches a count that a merged statement may add: of the two or three things that it combines.
var headcount = text.NewPattern(`^(?:two|three|[两二三][个位名人]?)$`)

// marks finds the details of a statement, each kind in order. Chinese and English details are equal, such as "每周五" and
// "on Fridays". A detail that is found wrongly costs a question, never a memory.
func marks(statement string) []text.Detail {
	folded := text.Simplify(text.Fold(romanNumerals.Replace(statement)))
	return append(text.Figures(folded), text.Negations(folded)...)
}

// romanNumerals are characters that folding would turn into words.
var romanNumerals = strings.NewReplacer("Ⅰ", "1", "Ⅱ", "2", "Ⅲ", "3", "Ⅳ", "4", "Ⅴ", "5", "Ⅵ", "6", "Ⅶ", "7", "Ⅷ", "8",
	"Ⅸ", "9", "Ⅹ", "10", "Ⅺ", "11", "Ⅻ", "12")

// difference returns the marks by which two statements differ: those that only one of them has, else those that differ
// in order.
func difference(a, b string) []text.Detail {
	in, of := marks(a), marks(b)
	if alone := append(missing(in, of), missing(of, in)...); len(alone) > 0 {
		return alone
	}
	return append(reordered(in, of), denied(a, b, slices.Concat(in, of))...)
}

// reordered returns the marks of kinds that have another order in the two statements (from Friday to Saturday), and
// negations of which one statement has more.
func reordered(in, of []text.Detail) (list []text.Detail) {
	for kind := range text.Clock + 1 {
		other := func(m text.Detail) bool { return min(m.Kind, text.Clock) != kind }
		x, y := slices.DeleteFunc(slices.Clone(in), other), slices.DeleteFunc(slices.Clone(of), other)
		if (len(x) == len(y) || kind == text.Negation) && !slices.EqualFunc(x, y, text.Detail.Like) {
			list = slices.Concat(list, x, y)
		}
	}
	return list
}

// denied returns the negations of two statements that have the same words in another order, and so may negate something
// else.
func denied(a, b string, marks []text.Detail) (list []text.Detail) {
	x, y := vocabulary(a), vocabulary(b)
	if slices.Equal(x, y) {
		return nil
	}
	slices.Sort(x)
	slices.Sort(y)
	for _, m := range marks {
		if m.Kind == text.Negation && slices.Equal(x, y) {
			list = append(list, m)
		}
	}
	return list
}

// missing returns the wanted marks that have no equal among the others.
func missing(wanted, others []text.Detail) (list []text.Detail) {
	for _, m := range wanted {
		if !slices.ContainsFunc(others, m.Like) {
			list = append(list, m)
		}
	}
	return list
}

// shared returns the marks of a list that have an equal among the others.
func shared(list, others []text.Detail) []text.Detail {
	return slices.DeleteFunc(slices.Clone(list),
		func(m text.Detail) bool { return !slices.ContainsFunc(others, m.Like) })
}

// describe says where two statements differ, "" if they do not.
func describe(differs []text.Detail) string {
	if len(differs) == 0 {
		return ""
	}
	names := make([]string, len(differs))
	for i, m := range differs {
		names[i] = m.String()
	}
	slices.Sort(names)
	return "the two differ in " + strings.Join(slices.Compact(names), " and ")
}

// overlap returns the share of a text's words that another text has, 0..1.
func overlap(text, other string) float64 {
	mine, theirs := vocabulary(text), vocabulary(other)
	slices.Sort(mine)
	mine = slices.Compact(mine)
	found := 0
	for _, word := range mine {
		if slices.Contains(theirs, word) {
			found++
		}
	}
	return float64(found) / float64(max(len(mine), 1))
}

// shareFewWords reports whether two statements share less than two fifths of the words of either. Small models call
// such a pair a conflict, which would delete one of them.
func shareFewWords(a, b string) bool { return 5*max(overlap(a, b), overlap(b, a)) < 2 }

// stem is how many characters of a word are compared: likes equals liked.
const stem = 4

// vocabulary returns the words of a text in order; of a text without spaces, its characters.
func vocabulary(s string) (words []string) {
	for word := range strings.FieldsFuncSeq(text.Simplify(text.Fold(s)),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		runes := []rune(word)
		if !slices.ContainsFunc(runes, text.IsDense) {
			words = append(words, string(runes[:min(len(runes), stem)]))
			continue
		}
		words = append(words, strings.Split(word, "")...)
	}
	return words
}
