package offline

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"reverie/internal/reverie"
	"reverie/internal/safety"
)

// factType is what sort of fact a line of session_extract holds.
type factType string

const (
	typePreference factType = "preference"
	typeProject    factType = "project"
	typeSummary    factType = reverie.TagSummary
)

// Bounds of an answer about a session.
const (
	maxFacts   = 8
	maxValue   = 80 // characters of what somebody says of himself or herself
	sureOfSelf = 0.9
)

// fact is one line of the answer to session_extract: a fact, or the summary.
type fact struct {
	Content    string     `json:"content"`
	Type       factType   `json:"type"`
	Confidence float64    `json:"confidence,omitempty"`
	Replace    string     `json:"replace,omitempty"`
	Evidence   []citation `json:"evidence,omitempty"`
}

// extract answers session_extract: what people say of themselves in one of the ways of
// words.toml, and what the session was about.
func extract(q question) ([]fact, error) {
	var summary string
	var known []memory
	var turns []message
	if err := errors.Join(q.read("session_summary", &summary), q.read("known_facts", &known),
		q.read("session_turns", &turns)); err != nil {
		return nil, err
	}
	var facts []fact
	for _, s := range readMessages(turns) {
		for _, c := range claims(s) {
			content, ok := c.sentence.statement()
			says := func(other string) bool { return sameWords(other, content) }
			if ok && c.sentence.quote() != "" && len(facts) < maxFacts &&
				!slices.ContainsFunc(facts, func(f fact) bool { return says(f.Content) }) &&
				!slices.ContainsFunc(known, func(m memory) bool { return says(m.Statement) }) {
				facts = append(facts, fact{Content: content, Type: c.Type, Confidence: sureOfSelf,
					Evidence: cite([]sentence{c.sentence})})
			}
		}
	}
	content, evidence := condense(summary, turns, reverie.MaxStatement)
	return append(facts, fact{Content: content, Type: typeSummary, Evidence: evidence}), nil
}

// claim is what somebody says of himself or herself.
type claim struct {
	saying
	value    string
	sentence sentence // the clause
}

// claims reads the clauses of a sentence.
func claims(s sentence) []claim {
	if strings.ContainsAny(s.text, "\"“”「」『』") {
		return nil // perhaps somebody else's words
	}
	var out []claim
	for _, clause := range clauses(s.text) {
		c := claim{sentence: readSentence(clause)}
		c.sentence.message = s.message
		if !c.sentence.sure || !c.sentence.self {
			continue
		}
		for _, how := range words().Sayings {
			if value, ok := how.value(bare(clause)); ok {
				c.saying, c.value = how, value
				out = append(out, c)
				break
			}
		}
	}
	return out
}

// clauses cuts a sentence at commas, and before "and I" and "but I".
func clauses(text string) []string {
	text = strings.NewReplacer("，", "\n", ",", "\n", "；", "\n", " and I", "\nI", " but I", "\nI").Replace(text)
	var out []string
	for clause := range strings.SplitSeq(text, "\n") {
		if clause = strings.TrimSpace(clause); clause != "" {
			out = append(out, clause)
		}
	}
	return out
}

// value reads a clause that is said in this way.
func (how saying) value(clause string) (string, bool) {
	before, behind, _ := strings.Cut(how.Says, "{}")
	clause = strings.ReplaceAll(clause, "’", "'")
	if len(clause) < len(before)+len(behind) || !strings.EqualFold(clause[:len(before)], before) ||
		!strings.HasSuffix(clause, behind) {
		return "", false
	}
	value := strings.TrimSpace(clause[len(before) : len(clause)-len(behind)])
	value = strings.TrimSuffix(value, "了")
	return value, len(readSentence(value).terms)+len(readSentence(value).figures) > 0 &&
		utf8.RuneCountInString(value) <= maxValue && !startsVague(value)
}

// startsVague tells whether a value begins with a word that points elsewhere, as in "I
// like that".
func startsVague(value string) bool {
	first, _, _ := strings.Cut(fold(value), " ")
	r, _ := utf8.DecodeRuneInString(value)
	article := first == "a" || first == "an" || first == "the"
	return words().stopWords[first] && !article || strings.ContainsRune("这那你他她它", r)
}

// rolling is the answer to session_summarize.
type rolling struct {
	Summary string `json:"summary"`
}

// summarize answers session_summarize: the summary so far, and a sentence of each turn.
func summarize(q question) ([]rolling, error) {
	var former string
	var turns []message
	if err := errors.Join(q.read("rolling_summary", &former), q.read("older_turns", &turns)); err != nil {
		return nil, err
	}
	text, _ := condense(former, turns, reverie.MaxRollingSummary)
	return []rolling{{text}}, nil
}

// condense adds to a summary the longest sentence of each message of a person, and
// leaves out the shortest until it fits. The evidence is the last ones.
func condense(former string, turns []message, limit int) (text string, evidence []citation) {
	var list []sentence
	for i := range turns {
		if s, ok := longest(&turns[i]); ok {
			list = append(list, s)
		}
	}
	former = strings.TrimSpace(former)
	for len(list) > 1 && utf8.RuneCountInString(retold(former, list)) > limit {
		short := slices.MinFunc(list, func(a, b sentence) int { return cmp.Compare(len(a.text), len(b.text)) })
		at := slices.IndexFunc(list, func(s sentence) bool { return s.message == short.message })
		list = slices.Delete(list, at, at+1)
	}
	text = retold(former, list)
	for utf8.RuneCountInString(text) > limit {
		first := splitSentences(text)[0]
		if rest := strings.TrimSpace(text[len(first):]); rest != "" {
			text = rest
			continue
		}
		text = string([]rune(text)[:limit])
	}
	if text == "" {
		text = "A few words were exchanged."
		if slices.ContainsFunc(turns, func(m message) bool { return isDense(m.Text) }) {
			text = "随便聊了几句。"
		}
	}
	return text, cite(list[max(0, len(list)-4):])
}

// longest is the longest sentence of a person's message that may stand in a summary.
func longest(m *message) (sentence, bool) {
	var best sentence
	if !m.fromPerson() || !plainName(strings.TrimSpace(m.Author)) {
		return best, false
	}
	for _, text := range splitSentences(m.Text) {
		s := sentence{text: text, message: m}
		if len(text) > len(best.text) && s.quote() != "" && safety.CheckStatement(s.told()) == nil {
			best = s
		}
	}
	return best, best.text != ""
}

// told is a sentence with who said it.
func (s sentence) told() string {
	said := strings.Join(strings.Fields(s.quote()), " ")
	said = strings.TrimRight(said, "。.!！;； ")
	if isDense(said) {
		return strings.TrimSpace(s.message.Author) + "：" + ended(said, "。")
	}
	return strings.TrimSpace(s.message.Author) + ": " + ended(said, ".")
}

// ended puts a mark behind a sentence that has none.
func ended(text, mark string) string {
	if strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") {
		return text
	}
	return text + mark
}

func retold(former string, list []sentence) string {
	parts := []string{former}
	for _, s := range list {
		parts = append(parts, s.told())
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}
