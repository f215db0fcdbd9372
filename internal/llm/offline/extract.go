package offline

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// extraction is the session_extract prompt's user part, as far as it is read
// here, and the facts found so far.
type extraction struct {
	digester
	summary  string
	known    []knownFact
	messages []message
	names    directory
	findings []finding
}

// knownFact is what is remembered already.
type knownFact struct {
	memory
	author string // whom an attributed fact is about
	sense  sense
	claim  claim // read from its words, its key "" where there is none
}

// finding is one line of the answer: a fact, or the summary.
type finding struct {
	Content    string     `json:"content"`
	Type       factType   `json:"type"`
	Tags       []string   `json:"tags,omitempty"`
	Confidence float64    `json:"confidence,omitempty"`
	Replace    string     `json:"replace,omitempty"`
	Evidence   []citation `json:"evidence"`
	author     string
	words      *sentence
	sense      sense
	claim      claim
}

// factType is what sort of fact a line holds.
type factType string

const (
	typeFact       factType = "fact"
	typePreference factType = "preference"
	typeProject    factType = "project"
	typeSummary    factType = reverie.TagSummary
)

// maxFindings is how many facts an answer has at most, the surest.
const maxFindings = 8

// readExtraction reads the user part of the session_extract prompt.
func readExtraction(q question) (*extraction, error) {
	e := &extraction{digester: digester{newBag()}}
	var known []memory
	if err := errors.Join(q.read("session_summary", &e.summary), q.read("known_facts", &known), q.read("session_turns", &e.messages)); err != nil {
		return nil, err
	}
	e.names = readDirectory(nil, e.messages)
	for _, m := range known {
		if m.ID == "" || m.Statement == "" {
			continue
		}
		k := knownFact{memory: m, author: speaker(m.Statement), sense: readSense(m.Statement)}
		k.digest = e.digest(withoutSpeaker(m.Statement))
		k.author, k.claim = e.claimIn(withoutSpeaker(m.Statement), k.author)
		e.known = append(e.known, k)
	}
	return e, nil
}

// claimIn reads what a clause says in one of the ways that are known here, and of
// whom; author where it says nothing.
func (e *extraction) claimIn(clause, author string) (subject string, c claim) {
	subject, predicate, owned := e.names.subject(clause, author)
	if subject == "" {
		return author, claim{}
	}
	for _, s := range sayings {
		if s.owned != owned {
			continue
		}
		if found := s.pattern.FindStringSubmatch(predicate); found != nil {
			if c, fits := s.read(found, isDense(clause)); fits {
				if c.key = cmp.Or(c.key, c.text); s.lasts {
					c.text = ""
				}
				return subject, c
			}
		}
	}
	return subject, claim{}
}

// lines are the facts, the surest first, then the summary.
func (e *extraction) lines() []finding {
	for i := range e.messages {
		m := &e.messages[i]
		if m.fromPerson() && m.ID > 0 && !takenBack(e.messages, i) && !marksJoke.in(speak(fold(m.Text))) && !instructs(m.Text) {
			e.message(i)
		}
	}
	e.replace()
	slices.SortStableFunc(e.findings, func(a, b finding) int { return cmp.Compare(b.Confidence, a.Confidence) })
	return append(e.findings[:min(len(e.findings), maxFindings)], e.summaryLine())
}

// message takes the facts of one message.
func (e *extraction) message(i int) {
	m := e.messages[i]
	said := m.Text
	if strings.HasPrefix(said, "@") { // a colon otherwise stands behind a request: "translate: I live in Lisbon"
		said = withoutAddress(said, e.names.authors)
	}
	for _, s := range splitSentences(said) {
		quote := quoteOf(s)
		if !text.VerifyQuote(quote, m.Text) {
			continue
		}
		if f, ok := e.finding(i, s); ok {
			f.Evidence = []citation{{m.ID, quote}}
			e.take(f)
		}
	}
}

// take adds a fact. What was said before of the same gives way to it, and what
// says the same adds to its evidence.
func (e *extraction) take(f finding) {
	for i, old := range e.findings {
		if old.author != f.author {
			continue
		}
		relation := relate(f.sense, old.sense)
		switch {
		case relation == reverie.RelationDuplicate:
			if len(old.Evidence) < maxEvidence && !slices.ContainsFunc(old.Evidence, func(c citation) bool { return c.Message == f.Evidence[0].Message }) {
				e.findings[i].Evidence = append(old.Evidence, f.Evidence...)
			}
			return
		case relation != reverie.RelationUnrelated, otherValue(f.claim, old.claim):
			e.findings[i] = f
			return
		}
	}
	e.findings = append(e.findings, f)
}

// otherValue tells whether two claims of one person give one feature two values.
func otherValue(a, b claim) bool {
	return a.aspect == reverie.AspectFeature && a.aspect == b.aspect && a.key == b.key && !a.several && !b.several && !same(a.value, b.value)
}

// replace names what facts take the place of, each known fact once, and drops
// what is remembered already.
func (e *extraction) replace() {
	taken := map[string]bool{}
	e.findings = slices.DeleteFunc(e.findings, func(f finding) bool {
		return slices.ContainsFunc(e.known, func(k knownFact) bool { return k.says(f) })
	})
	for i := range e.findings {
		f := &e.findings[i]
		for _, k := range e.known {
			if !taken[k.ID] && k.endedBy(*f) {
				taken[k.ID], f.Replace = true, k.ID
				break
			}
		}
	}
}

// about tells whether both are about the same person, as far as they say.
func (k knownFact) about(f finding) bool { return k.author == "" || same(k.author, f.author) }

// says tells whether a fact is remembered already.
func (k knownFact) says(f finding) bool {
	return k.about(f) && (relate(f.sense, k.sense) == reverie.RelationDuplicate ||
		f.claim.key != "" && f.claim.key == k.claim.key && same(f.claim.value, k.claim.value))
}

// endedBy tells whether a fact says what holds instead of what is remembered, or
// says it with more.
func (k knownFact) endedBy(f finding) bool {
	if !k.about(f) {
		return false
	}
	if relation := relate(f.sense, k.sense); relation == reverie.RelationUpdate || relation == reverie.RelationConflict || otherValue(f.claim, k.claim) {
		return true
	}
	verdict := judge(f.words, f.author, &k.memory, tieOf(f.words.digest, k.digest))
	return verdict == verdictChange || verdict == verdictEnd || verdict == verdictDetail
}
