package offline

import (
	"errors"
	"slices"
	"strings"

	"reverie/internal/reverie"
)

// comparison is the compare prompt's user part, as far as it is read here.
type comparison struct {
	fact       string
	candidates []remembered
}

// remembered is a candidate: a memory that comes near the fact.
type remembered struct {
	ID        string `json:"id"`
	Statement string `json:"statement"`
}

// opinion is one line of the answer.
type opinion struct {
	ID        string           `json:"id"`
	Reason    string           `json:"reason"`
	Relation  reverie.Relation `json:"relation"`
	Statement string           `json:"statement,omitempty"`
}

// readComparison reads the user part of the compare prompt.
func readComparison(q question) (comparison, error) {
	var c comparison
	var fact struct {
		Statement string `json:"statement"`
	}
	if err := errors.Join(q.read("fact", &fact), q.read("candidates", &c.candidates)); err != nil {
		return comparison{}, err
	}
	c.fact = fact.Statement
	return c, nil
}

// verdicts writes one line for each candidate, in order.
func (c comparison) verdicts() []opinion {
	var out []opinion
	fact := readSense(c.fact)
	for _, m := range c.candidates {
		o := opinion{ID: m.ID, Relation: relate(fact, readSense(m.Statement))}
		o.Reason = relationReasons[o.Relation][0]
		if isDense(c.fact) {
			o.Reason = relationReasons[o.Relation][1]
		}
		if o.Relation == reverie.RelationUpdate {
			o.Statement = c.fact // it holds all of the memory
		}
		out = append(out, o)
	}
	return out
}

var relationReasons = map[reverie.Relation][2]string{
	reverie.RelationDuplicate: {"the memory says it in nearly the same words", "记忆用几乎同样的话说了这件事"},
	reverie.RelationUpdate:    {"the fact says what the memory says, and more", "新内容包含了记忆所说的，并有补充"},
	reverie.RelationConflict:  {"the same claim with another day, time or number, or denied", "同一件事，日期、时间或数字不同，或意思相反"},
	reverie.RelationUnrelated: {"nothing in the words says that they are one claim", "从字面上看不出是同一件事"},
}

// relate says how a remembered statement stands to a fact. It goes by the words
// alone and claims as little as it can: what it does not recognise as the same
// claim is unrelated, since a duplicate that is stored costs a line, and a fact
// taken for another one is lost.
func relate(fact, memory sense) reverie.Relation {
	if fact.hash == memory.hash {
		return reverie.RelationDuplicate
	}
	if len(fact.chunks) == 0 || len(memory.chunks) == 0 {
		return reverie.RelationUnrelated
	}
	words, details := compareWords(fact, memory), compareDetails(fact, memory)
	if slices.Equal(fact.denials, memory.denials) && fact.symbols == memory.symbols {
		switch {
		case words == alike && (details == alike || details == lessVague),
			words == less && (details == alike || details == lessVague) && slices.Equal(fact.numbers, memory.numbers):
			return reverie.RelationDuplicate
		case (words == alike || words == more) && (details == alike || details == more || details == moreVague):
			return reverie.RelationUpdate
		}
	}
	if contradicts(fact, memory) {
		return reverie.RelationConflict
	}
	return reverie.RelationUnrelated
}

// measure is how much a fact says, held against a memory.
type measure uint8

const (
	other     measure = iota // something else, or something that the memory does not say and the other way round
	alike                    // neither says more
	more                     // all that the memory does, and more
	less                     // a part of what the memory does
	moreVague                // more, but only the part of the day
	lessVague                // less, but only the part of the day
)

// compareWords holds the words of two statements against each other, the days
// and times left out. What is said besides must be a phrase or clause of its
// own behind the first: "lives in York" is no part of "lives in New York".
func compareWords(fact, memory sense) measure {
	if fact.listsTimes() || memory.listsTimes() {
		if slices.Equal(fact.whole, memory.whole) {
			return alike
		}
		return other
	}
	extraFact, extraMemory := beyond(fact.chunks, memory.chunks), beyond(memory.chunks, fact.chunks)
	switch {
	case len(extraFact) == 0 && len(extraMemory) == 0, inOrder(fact.chunks) == inOrder(memory.chunks):
		return alike
	case fact.chunks[0].key() != memory.chunks[0].key():
		return other
	case len(extraMemory) == 0 && allAdd(extraFact):
		return more
	case len(extraFact) == 0 && allAdd(extraMemory):
		return less
	}
	return other
}

// inOrder is what phrases say one after the other, wherever the commas stand.
func inOrder(chunks []chunk) string {
	var keys []string
	for _, c := range chunks {
		keys = append(keys, c.key())
	}
	return strings.Join(keys, " ")
}

// beyond returns the chunks of a that b does not hold.
func beyond(a, b []chunk) []chunk {
	count := make(map[string]int)
	for _, c := range b {
		count[c.key()]++
	}
	var extra []chunk
	for _, c := range a {
		if count[c.key()]--; count[c.key()] < 0 {
			extra = append(extra, c)
		}
	}
	return extra
}

// allAdd tells whether chunks only add to what is said before them; "unless it
// rains" and "or tea" say something else.
func allAdd(chunks []chunk) bool {
	for _, c := range chunks {
		if !c.adds() {
			return false
		}
	}
	return true
}

// compareDetails holds days, times and parts of the day against each other.
func compareDetails(fact, memory sense) measure {
	result := alike
	for kind := range detailKinds {
		a, b := fact.details[kind], memory.details[kind]
		step := other
		switch vague := kind >= firstVague; {
		case slices.Equal(a, b), kind == detailHalf && (len(fact.details[detailTime]) == 0 || len(memory.details[detailTime]) == 0):
			step = alike // half a day without a time is nothing
		case kind == detailHalf && (fact.day24 || memory.day24):
		case len(b) == 0 && vague:
			step = moreVague
		case len(a) == 0 && vague:
			step = lessVague
		case len(a) > len(b) && holdsEach(a, b):
			step = more
		case len(a) < len(b) && holdsEach(b, a):
			step = less
		}
		if result = join(result, step); result == other {
			return other
		}
	}
	return result
}

// clash tells whether a kind of detail differs where both name one, and neither
// names all that the other does.
func clash(fact, memory sense) bool {
	for kind := range detailKinds {
		a, b := fact.details[kind], memory.details[kind]
		if len(a) > 0 && len(b) > 0 && !holdsEach(a, b) && !holdsEach(b, a) {
			return true
		}
	}
	a, b := fact.details[detailTime], memory.details[detailTime]
	return len(a) > 0 && len(b) > 0 && (fact.day24 || memory.day24) && !slices.Equal(fact.details[detailHalf], memory.details[detailHalf])
}

func holdsEach(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

// join adds a further measure to one.
func join(a, b measure) measure {
	switch {
	case a == b || b == alike:
		return a
	case a == alike:
		return b
	case a == more && b == moreVague, a == moreVague && b == more:
		return more
	case a == less && b == lessVague, a == lessVague && b == less:
		return less
	}
	return other
}

// contradicts tells whether both say the same of the same, but for a day, a
// time, a number, or that one of them denies it. Where something is denied,
// another day is another matter.
func contradicts(fact, memory sense) bool {
	if skeleton := fact.skeleton(); skeleton == "" || skeleton != memory.skeleton() {
		return false
	}
	numbers, clashes := slices.Equal(fact.numbers, memory.numbers), clash(fact, memory)
	switch len(fact.denials) + len(memory.denials) {
	case 0:
		return !numbers || clashes
	case 1:
		return numbers && !clashes
	}
	return false
}
