package offline

import (
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
	typeSummary    factType = reverie.TagSummary
)

// Bounds of what is said of a session and of people.
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
	Evidence   []citation `json:"evidence,omitempty"`
}

// extract answers session_extract: what people say of themselves in one of the ways of
// words.toml, and what the session was about.
func extract(q struct {
	Summary string    `json:"session_summary"`
	Known   []memory  `json:"known_facts"`
	Turns   []message `json:"session_turns"`
}) []fact {
	var facts []fact
	known := q.Known
	for _, s := range readMessages(q.Turns) {
		for _, c := range claims(s) {
			content, ok := c.sentence.statement()
			proof := cite([]sentence{c.sentence})
			says := func(m memory) bool { return sameWords(m.Statement, content) }
			if ok && proof != nil && len(facts) < maxFacts && !slices.ContainsFunc(known, says) {
				facts = append(facts, fact{Content: content, Type: c.Type, Confidence: sureOfSelf, Evidence: proof})
				known = append(known, memory{Statement: content})
			}
		}
	}
	content, evidence := condense(q.Summary, q.Turns, reverie.MaxStatement)
	return append(facts, fact{Content: content, Type: typeSummary, Evidence: evidence})
}

// claim is what somebody says of himself or herself.
type claim struct {
	saying
	value    string
	sentence sentence // the clause
}

// betweenClauses cuts a sentence at commas, and before "and I" and "but I".
var betweenClauses = strings.NewReplacer("，", "\n", ",", "\n", "；", "\n", " and I", "\nI", " but I", "\nI")

// claims reads the clauses of a sentence.
func claims(s sentence) []claim {
	if strings.ContainsAny(s.text, "\"“”「」『』") {
		return nil // perhaps somebody else's words
	}
	var out []claim
	for clause := range strings.SplitSeq(betweenClauses.Replace(s.text), "\n") {
		c := claim{sentence: readSentence(strings.TrimSpace(clause))}
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
	read := readSentence(value)
	return value, len(read.terms)+len(read.figures) > 0 && utf8.RuneCountInString(value) <= maxValue && !startsVague(value)
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
func summarize(q struct {
	Former string    `json:"rolling_summary"`
	Turns  []message `json:"older_turns"`
}) []rolling {
	text, _ := condense(q.Former, q.Turns, reverie.MaxRollingSummary)
	return []rolling{{text}}
}

// condense adds to a summary the longest sentence of each message of a person, and
// leaves out what is oldest until it fits. The evidence is the last ones.
func condense(former string, turns []message, limit int) (text string, evidence []citation) {
	parts := splitSentences(former, readAtMost)
	var list []sentence
	dense := false
	for i := range turns {
		dense = dense || isDense(turns[i].Text)
		if s, ok := longest(&turns[i]); ok {
			list, parts = append(list, s), append(parts, s.told())
		}
	}
	switch text = newest(parts, limit); {
	case text == "" && dense:
		text = "随便聊了几句。"
	case text == "":
		text = "A few words were exchanged."
	}
	return text, cite(list[max(0, len(list)-4):])
}

// longest is the longest sentence of a person's message that may stand in a summary.
func longest(m *message) (best sentence, found bool) {
	if !m.fromPerson() || !plainName(strings.TrimSpace(m.Author)) {
		return best, false
	}
	for _, text := range splitSentences(m.Text, maxSentences) {
		s := sentence{text: text, message: m}
		if len(text) > len(best.text) && s.quote() != "" && safety.CheckStatement(s.told()) == nil {
			best = s
		}
	}
	return best, best.text != ""
}

// told is a sentence with who said it.
func (s sentence) told() string {
	said := strings.TrimRight(strings.Join(strings.Fields(s.quote()), " "), "。.!！;； ")
	colon, end := ": ", "."
	if isDense(said) {
		colon, end = "：", "。"
	}
	if strings.HasSuffix(said, "?") || strings.HasSuffix(said, "？") {
		end = ""
	}
	return strings.TrimSpace(s.message.Author) + colon + said + end
}

// remark is one line of the answer to impression_observe: what a person says of himself
// or herself.
type remark struct {
	Subject     string       `json:"subject"`
	Kind        string       `json:"kind"`
	Reason      string       `json:"reason"`
	Confidence  float64      `json:"confidence"`
	Evidence    []citation   `json:"evidence"`
	Impressions []impression `json:"impressions,omitempty"`
	Features    []trait      `json:"features,omitempty"`
}

type impression struct {
	Text     string     `json:"text"`
	Evidence []citation `json:"evidence"`
}

type trait struct {
	Key      string     `json:"key"`
	Value    string     `json:"value"`
	Replaces string     `json:"replaces,omitempty"`
	Evidence []citation `json:"evidence"`
}

// subject is one that is to be observed.
type subject struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Known struct {
		Features map[string]string `json:"features"`
	} `json:"known"`
}

// observe answers impression_observe. Nothing is taken from what people say of others.
func observe(q struct {
	Subjects []subject `json:"subjects"`
	Messages []message `json:"messages"`
}) []remark {
	var out []remark
	all := readMessages(q.Messages)
	for _, who := range q.Subjects {
		r := remark{Subject: who.Name, Kind: who.Kind, Confidence: sureOfSelf, Reason: "said of oneself in plain words"}
		for _, s := range all {
			if s.message.Author != who.Name {
				continue
			}
			for _, c := range claims(s) {
				r.take(c, who)
			}
		}
		if len(r.Evidence) > 0 {
			out = append(out, r)
		}
	}
	return out
}

// take adds a claim. The last value of a feature counts.
func (r *remark) take(c claim, who subject) {
	proof := cite([]sentence{c.sentence})
	said := c.value
	if c.Impression != "" {
		said = strings.ReplaceAll(c.Impression, "{}", c.value)
	}
	if len(proof) == 0 || safety.CheckStatement(said) != nil {
		return
	}
	if !slices.Contains(r.Evidence, proof[0]) {
		r.Evidence = append(r.Evidence, proof...)
	}
	if c.Feature == "" {
		r.Impressions = slices.DeleteFunc(r.Impressions, func(i impression) bool { return i.Text == said })
		r.Impressions = append(r.Impressions, impression{said, proof})
		return
	}
	f := trait{Key: c.Feature, Value: said, Evidence: proof}
	if old := who.Known.Features[f.Key]; old != said {
		f.Replaces = old
	}
	r.Features = slices.DeleteFunc(r.Features, func(o trait) bool { return o.Key == f.Key })
	r.Features = append(r.Features, f)
}
