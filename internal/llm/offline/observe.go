package offline

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"reverie/internal/lazyregexp"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// observation is the observe prompt's user part, as far as it is read here, and
// the answer in the making.
type observation struct {
	subjects []observed
	messages []message
	names    directory
	remarks  []remark // one for each subject and speaker
}

// observed is a subject of the question.
type observed struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`
	Aliases []string `json:"aliases"`
	Known   struct {
		Impressions []string          `json:"impressions"`
		Features    map[string]string `json:"features"`
	} `json:"known"`
}

// remark is one line of the answer: what one person says of one subject.
type remark struct {
	Subject     string       `json:"subject"`
	Kind        string       `json:"kind"`
	Aliases     []string     `json:"aliases,omitempty"`
	Reason      string       `json:"reason"`
	Confidence  float64      `json:"confidence"`
	Evidence    []citation   `json:"evidence"`
	Impressions []impression `json:"impressions,omitempty"`
	Features    []trait      `json:"features,omitempty"`
	Relations   []relation   `json:"relations,omitempty"`
	speaker     string
}

type impression struct {
	Text     string     `json:"text"`
	Replaces string     `json:"replaces,omitempty"`
	Evidence []citation `json:"evidence"`
}

type trait struct {
	Key      string     `json:"key"`
	Value    string     `json:"value"`
	Replaces string     `json:"replaces,omitempty"`
	Evidence []citation `json:"evidence"`
}

type relation struct {
	Kind     string     `json:"kind"`
	Target   string     `json:"target"`
	Evidence []citation `json:"evidence"`
}

// How sure it is of what somebody says of themselves, and of somebody else.
const (
	sureOfSelf  = 0.9
	sureOfOther = 0.7
)

// readObservation reads the user part of the observe prompt.
func readObservation(q question) (observation, error) {
	var o observation
	if err := errors.Join(q.read("subjects", &o.subjects), q.read("messages", &o.messages)); err != nil {
		return observation{}, err
	}
	o.names = readDirectory(o.subjects, o.messages)
	return o, nil
}

// lines observes message by message, in order.
func (o *observation) lines() []remark {
	for i, m := range o.messages {
		if m.fromPerson() && m.ID > 0 && !takenBack(o.messages, i) && !marksJoke.in(speak(fold(m.Text))) && !instructs(m.Text) {
			o.message(m)
		}
	}
	return slices.DeleteFunc(o.remarks, func(r remark) bool {
		return len(r.Aliases)+len(r.Impressions)+len(r.Features)+len(r.Relations) == 0
	})
}

// instructs tells a text that tries to give orders to whoever keeps notes.
func instructs(text string) bool {
	var broken *reverie.StatementError
	err := reverie.CheckStatement(strings.Join(strings.Fields(text), " "))
	return errors.As(err, &broken) && broken.Rule == reverie.RuleInstruction
}

// takenBack tells whether the author's next message says that it was a joke.
func takenBack(messages []message, i int) bool {
	for _, m := range messages[i+1:] {
		if m.Author == messages[i].Author {
			return countWords(m.Text) <= 6 && marksTakenBack.in(speak(fold(m.Text)))
		}
	}
	return false
}

// message observes the sentences of a message.
func (o *observation) message(m message) {
	for _, s := range splitSentences(withoutAddress(m.Text, o.names.authors)) {
		t := speak(fold(s))
		if isNoise(s) || isQuestion(t) || marksHedge.in(t) || marksHearsay.in(t) || marksEnd.in(t) || !text.VerifyQuote(quoteOf(s), m.Text) {
			continue
		}
		proof := []citation{{m.ID, quoteOf(s)}}
		for _, clause := range clausesOf(s) {
			o.clause(m, clause, marksPassing.in(t), proof)
		}
	}
}

// marksHearsay: somebody only thinks so. reports: it is somebody else's "I".
var (
	marksHearsay = newMarker(`apparently, i heard, i hear, supposedly, allegedly, seems, seem, seemed, i think, i believe, i bet, looks like, sounds like, rumour, rumor, could,
		pretend, imagine, someday, one day`, `好像 似乎 据说 传说 以为 猜 大概 应该是 如果 假装 将来 打算 准备`, nil)
	marksTakenBack = newMarker(`jk, just kidding, kidding, joking, not really`, `开玩笑 骗你 逗你 瞎说 假的`, nil)

	reports  = lazyregexp.New(`(?i)\b(?:said|says|say|told|tells|asked|asks|wrote|writes|goes|was like)\b|[说问讲喊写][：:，,]?|告诉`)
	clauseAt = lazyregexp.New(`[，,；;]\s*|(?i:\s+(?:and|but)\s+)|\s+[-–—]+\s+`)
)

// clausesOf returns what remains of a sentence from each of its clauses on, as
// long as it is the author who speaks.
func clausesOf(text string) []string {
	if strings.ContainsAny(text, "\"“”「」『』") {
		return nil
	}
	text = strings.TrimSpace(text[len(leadIn.FindString(text)):])
	out := []string{text}
	for _, at := range clauseAt.FindAllStringIndex(text, -1) {
		if reports.MatchString(text[:at[0]]) {
			break
		}
		out = append(out, strings.TrimSpace(text[at[1]:]))
	}
	return out
}

// clause observes one clause, if it says something in a way that is known here.
func (o *observation) clause(m message, clause string, passing bool, proof []citation) {
	if alias := aliasIn(clause); alias != "" {
		if r := o.remark(m.Author, m.Author, clause, proof); r != nil && !strings.EqualFold(alias, baseName(m.Author)) && !slices.Contains(r.Aliases, alias) {
			r.Aliases = append(r.Aliases, alias)
		}
		return
	}
	subject, predicate, owned := o.names.subject(clause, m.Author)
	if subject == "" {
		return
	}
	for _, s := range sayings {
		if s.owned != owned || passing && !s.lasts {
			continue
		}
		if found := s.pattern.FindStringSubmatch(predicate); found != nil {
			if c, fits := s.read(found, isDense(clause)); fits {
				o.take(m, subject, c, clause, proof)
				return
			}
		}
	}
}

// take adds a claim to the line of its subject and speaker.
func (o *observation) take(m message, subject string, c claim, clause string, proof []citation) {
	target := ""
	if c.aspect == reverie.AspectRelation {
		if target = m.Author; c.target != "" {
			if target = o.names.resolve(c.target); target == "" {
				target = c.target
			}
		}
		if c.swapped { // "my brother is called Tom" is about Tom
			subject, target = target, subject
		}
	}
	r := o.remark(subject, m.Author, clause, proof)
	if r == nil {
		return
	}
	known := o.known(subject)
	self := subject == m.Author
	switch {
	case c.aspect == reverie.AspectRelation:
		if target != subject && !slices.ContainsFunc(r.Relations, func(x relation) bool { return x.Kind == c.key && x.Target == target }) {
			r.Relations = append(r.Relations, relation{c.key, target, proof})
		}
	case c.aspect == reverie.AspectFeature && !r.holds(c, known):
		r.feature(c, known, self, proof)
	default:
		r.impression(c, known, self, proof)
	}
}

// known is what the question says of a subject.
func (o *observation) known(subject string) *observed {
	for i := range o.subjects {
		if o.subjects[i].Name == subject {
			return &o.subjects[i]
		}
	}
	return &observed{}
}

// remark finds or begins the line of what one person says of one subject; nil if
// the subject is not of this question.
func (o *observation) remark(subject, speaker, clause string, proof []citation) *remark {
	if o.names.elsewhere(subject) {
		return nil
	}
	at := slices.IndexFunc(o.remarks, func(r remark) bool { return r.Subject == subject && r.speaker == speaker })
	if at < 0 {
		r := remark{Subject: subject, speaker: speaker, Kind: cmp.Or(o.known(subject).Kind, string(reverie.EntityPerson)),
			Confidence: sureOfOther, Reason: remarkReasons[0][0]}
		language := 0
		if isDense(clause) {
			language = 1
		}
		r.Reason = remarkReasons[0][language]
		if subject == speaker {
			r.Confidence, r.Reason = sureOfSelf, remarkReasons[1][language]
		}
		o.remarks, at = append(o.remarks, r), len(o.remarks)
	}
	r := &o.remarks[at]
	if !slices.Contains(r.Evidence, proof[0]) {
		r.Evidence = append(r.Evidence, proof...)
	}
	return r
}

// remarkReasons are in the two languages of the texts.
var remarkReasons = [2][2]string{
	{"somebody else says so in plain words", "别人明说的"},
	{"said of oneself in plain words", "本人明说的"},
}

// holds tells whether a feature that may have several values is known with
// another one: that is then a sentence of its own.
func (r *remark) holds(c claim, known *observed) bool {
	if !c.several {
		return false
	}
	differs := func(value string) bool { return value != "" && !same(value, c.value) }
	return differs(known.Known.Features[c.key]) ||
		slices.ContainsFunc(r.Features, func(f trait) bool { return f.Key == c.key && differs(f.Value) })
}

// feature sets a feature. The last value that is said counts.
func (r *remark) feature(c claim, known *observed, self bool, proof []citation) {
	f := trait{Key: c.key, Value: c.value, Evidence: proof}
	switch old := known.Known.Features[c.key]; {
	case old == "":
	case same(old, f.Value):
		f.Value = old
	case self:
		f.Replaces = old
	}
	at := slices.IndexFunc(r.Features, func(x trait) bool { return x.Key == f.Key })
	switch {
	case at < 0:
		r.Features = append(r.Features, f)
	case same(r.Features[at].Value, f.Value):
		r.Features[at].Evidence = append(r.Features[at].Evidence, proof...)
	default:
		r.Features[at] = f
	}
}

// impression adds a sentence. One that is known is repeated word for word, and
// one that it contradicts is named.
func (r *remark) impression(c claim, known *observed, self bool, proof []citation) {
	text := c.text
	if utf8.RuneCountInString(text) > reverie.MaxValueLength || reverie.CheckStatement(text) != nil {
		return
	}
	i := impression{Text: text, Evidence: proof}
	for _, old := range known.Known.Impressions {
		switch relate(readSense(text), readSense(old)) {
		case reverie.RelationDuplicate:
			i.Text = old
		case reverie.RelationConflict:
			if self {
				i.Replaces = old
			}
		}
	}
	at := slices.IndexFunc(r.Impressions, func(x impression) bool { return same(x.Text, i.Text) })
	if at < 0 {
		r.Impressions = append(r.Impressions, i)
		return
	}
	r.Impressions[at].Evidence = append(r.Impressions[at].Evidence, proof...)
}
