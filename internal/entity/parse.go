package entity

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"reverie/internal/llm/answer"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// The rules by which impression refuses what a model says, besides those for
// statements ([safety.Rule]).
const (
	ruleForm        = "form"        // an object, but no observation, or a claim without what it needs
	ruleIdentity    = "identity"    // it names ids, or says what to do with them, which is not for a model
	ruleName        = "name"        // a name that means nobody in particular, or that nobody said
	ruleAlias       = "alias"       // nothing that was said proves it
	ruleEvidence    = "evidence"    // nothing that it cites stands up
	ruleConfidence  = "confidence"  // none, not within 0..1, or too low
	ruleBoilerplate = "boilerplate" // true of whoever writes in a chat
	ruleOutdated    = "outdated"    // what is known rests on later words
	ruleTarget      = "target"      // a relation to itself, or to what the plan cannot name
	ruleExpired     = "expired"     // waited too long to be sure of
	ruleKnown       = "known"       // a create of what the index knows, or the plan makes twice
	rulePlan        = "plan"        // a step that does not fit the state it rests on
)

// parse reads the answer to a batch: observations whose words, evidence and
// aliases have been checked, and what was refused. An answer is usable with at
// least one line that has the form of an observation, or one that says on purpose
// that there is none.
func parse(b batch, c *participants, loc *time.Location, read answer.Result) (list []reverie.Observation,
	refused []reverie.Refusal, usable bool) {
	p := &parser{batch: b, participants: c, loc: loc}
	for _, l := range read.Lines {
		p.line = l.No
		r, err := readLine(l.Object)
		switch {
		case err != nil:
			p.refuse("", "", ruleForm, err.Error())
		case r.Subject == nil:
			usable = true
		default:
			usable = true
			if o, ok := p.check(r); ok {
				list = append(list, o)
			}
		}
	}
	return list, p.refused, usable
}

// parser checks the lines of one answer.
type parser struct {
	batch
	participants *participants
	loc          *time.Location
	line         int
	refused      []reverie.Refusal
}

func (p *parser) refuse(what, of, rule, detail string) {
	p.refused = append(p.refused, reverie.Refusal{Line: p.line, Action: what, Handle: handle(of), Rule: rule,
		Detail: detail})
}

// handle is a name as a refusal may repeat it.
func handle(name string) string { return text.Excerpt(safety.MaskSecrets(name), 40) }

// check holds one line against the question.
func (p *parser) check(r answerLine) (o reverie.Observation, ok bool) {
	if r.identity != "" {
		p.refuse("", r.subject, ruleIdentity, fmt.Sprintf("it has the key %q; identities are given by the code alone",
			text.Excerpt(r.identity, 40)))
		return o, false
	}
	if o, ok = p.subject(r); !ok {
		return o, false
	}
	shared := p.evidence(r.Evidence, o)
	said, claims := slices.Clone(shared), 0
	for _, of := range []struct {
		aspect reverie.Aspect
		claims []lineClaim
	}{{reverie.AspectImpression, r.Impressions}, {reverie.AspectFeature, r.Features}, {reverie.AspectRelation, r.Relations}} {
		claims += len(of.claims)
		for _, one := range of.claims {
			c, rule, detail := p.claim(of.aspect, one, r, o, shared)
			if rule != "" {
				p.refuse(string(of.aspect), r.subject, rule, detail)
				continue
			}
			o.Claims, said = append(o.Claims, c), append(said, c.Evidence...)
		}
	}
	o.Aliases = p.aliases(r.Aliases, o, said)
	o.LastAt = newest(said)
	if len(o.Claims) == 0 && len(o.Aliases) == 0 {
		if claims == 0 {
			p.refuse("", r.subject, string(safety.RuleEmpty), "it says nothing of its subject")
		}
		return o, false
	}
	return o, true
}

// subject settles whom a line is about: an account of the participants by its label, or
// a name. A thing is no account, though a person here may be called like it; a bot,
// or a label with a number, is nothing else.
func (p *parser) subject(r answerLine) (o reverie.Observation, ok bool) {
	key, kind := text.NameKey(r.subject), reverie.EntityKind(strings.ToLower(r.Kind.text))
	if a := p.participants.labelled(r.subject); a != nil && (kind != reverie.EntityThing ||
		a.kind == reverie.EntityBot || bare(a.label) != key) {
		return reverie.Observation{Subject: a.name(), Account: a.id, Kind: a.kind}, true
	}
	if rule, detail := p.checkName(r.subject); rule != "" {
		p.refuse("subject", r.subject, rule, detail)
		return o, false
	}
	o = reverie.Observation{Subject: r.subject, Kind: kind}
	if at := slices.IndexFunc(p.subjects, func(s subject) bool { return text.NameKey(s.label) == key }); at >= 0 &&
		p.subjects[at].entityID != "" {
		o.Kind = p.subjects[at].kind
	}
	if isKind(o.Kind) {
		return o, true
	}
	p.refuse("subject", r.subject, ruleForm, fmt.Sprintf("kind %q is none of person, bot, thing",
		text.Excerpt(string(kind), 20)))
	return o, false
}

func isKind(k reverie.EntityKind) bool {
	return k == reverie.EntityPerson || k == reverie.EntityBot || k == reverie.EntityThing
}

// checkName refuses what cannot name anybody or anything, and a name that is
// neither a subject's or a member's nor in a message of the question: nobody has
// said it.
func (p *parser) checkName(name string) (rule, detail string) {
	if rule, detail = checkName(name); rule != "" {
		return rule, detail
	}
	key := text.NameKey(name)
	if slices.ContainsFunc(p.subjects, func(s subject) bool { return text.NameKey(s.label) == key }) ||
		len(p.participants.bearers(key)) > 0 ||
		slices.ContainsFunc(p.messages, func(m reverie.Message) bool {
			return len(places(textForm(m.Text),
				name)) > 0
		}) {
		return "", ""
	}
	return ruleName, fmt.Sprintf("no message of this question names %q", handle(name))
}

// claim checks one thing that is said of a subject. rule says by what it is refused.
func (p *parser) claim(aspect reverie.Aspect, said lineClaim, of answerLine, o reverie.Observation,
	shared []reverie.Evidence) (c reverie.ObservedClaim, rule, detail string) {
	name, value, err := said.says(aspect)
	if err != nil {
		return c, ruleForm, err.Error()
	}
	c = reverie.ObservedClaim{Aspect: aspect, Name: name, Value: value, Replaces: said.Replaces.text, Evidence: shared,
		Reason: safety.CleanReason(cmp.Or(said.Reason.text, of.Reason.text))}
	if aspect == reverie.AspectRelation {
		if a := p.participants.labelled(value); a != nil {
			c.Value, c.Account = a.name(), a.id
		} else if rule, detail = p.checkName(value); rule != "" {
			return c, rule, detail
		}
		if c.Account != "" && c.Account == o.Account || c.Account == o.Account &&
			text.NameKey(c.Value) == text.NameKey(o.Subject) {
			return c, ruleTarget, "it relates its subject to itself"
		}
	}
	if rule, detail = checkClaim(c); rule != "" {
		return c, rule, detail
	}
	if c.Confidence, err = cmp.Or(said.Confidence, &of.Confidence).share(); err != nil {
		return c, ruleConfidence, err.Error()
	}
	if said.Evidence != nil {
		c.Evidence = p.evidence(*said.Evidence, o)
	}
	if len(c.Evidence) == 0 {
		return c, ruleEvidence, "none of its quotes stands in a member's message of this question"
	}
	return c, "", ""
}

// checkClaim holds the words of a claim against the rules of text, each alone and
// together as they will be read. Lengths are left to aggregate.
func checkClaim(c reverie.ObservedClaim) (rule, detail string) {
	texts := []string{c.Value}
	if c.Aspect != reverie.AspectImpression {
		texts = append(texts, c.Name, c.Name+": "+c.Value)
	}
	for _, text := range texts {
		if rule, detail = checkWords(text, reverie.MaxStatement); rule != "" {
			return rule, detail
		}
	}
	return "", ""
}

// labelled returns the account that a label of the question means, or nil.
func (c *participants) labelled(name string) *account {
	return c.accounts[c.labels[text.NameKey(name)]]
}

// name is what an account is kept under: a name of its own, or else its id.
func (a *account) name() string {
	if name := a.called(); name != "" {
		return name
	}
	if isShown(a.id) && text.NameKey(a.id) != "" {
		return a.id
	}
	return nameless
}

// answerLine is one line of an answer that has the form of an observation; nothing in
// it has been checked yet. It is read loosely where a model's habit does no harm: numbers
// as strings, one item instead of a list, an impression as a plain string, features as an
// object, keys that we do not know.
type answerLine struct {
	None        bool            `json:"none"` // it says on purpose that there is nothing
	Subject     *word           `json:"subject"`
	Kind        word            `json:"kind"`
	Aliases     many[word]      `json:"aliases"`
	Reason      word            `json:"reason"` // decoration: what is no string is left out
	Confidence  word            `json:"confidence"`
	Evidence    citations       `json:"evidence"`
	Impressions many[lineClaim] `json:"impressions"`
	Features    features        `json:"features"`
	Relations   many[lineClaim] `json:"relations"`

	identity string // a key that is not for a model, "" without one
	subject  string
}

// lineClaim is one claim of a line.
type lineClaim struct {
	Text       word       `json:"text"` // of an impression
	Key        word       `json:"key"`  // of a feature
	Value      word       `json:"value"`
	Kind       word       `json:"kind"` // of a relation
	Target     word       `json:"target"`
	Replaces   word       `json:"replaces"`
	Reason     word       `json:"reason"`
	Confidence *word      `json:"confidence"` // nil: as the line's
	Evidence   *citations `json:"evidence"`   // nil: as the line's
	wrong      error      // with its form
}

// readLine reads one object.
func readLine(object json.RawMessage) (r answerLine, err error) {
	var all any
	numbers := json.NewDecoder(bytes.NewReader(object))
	numbers.UseNumber() // of any size
	if err := errors.Join(json.Unmarshal(object, &r), numbers.Decode(&all)); err != nil {
		return r, fmt.Errorf("a field has the wrong type: %w", err)
	}
	switch {
	case r.Subject == nil && r.None:
		return r, nil
	case r.Subject == nil || r.Subject.text == "":
		return r, errors.New(`no "subject"`)
	case r.Kind.wrong != nil:
		return r, fmt.Errorf("kind: %w", r.Kind.wrong)
	}
	r.subject, r.identity = plainName(r.Subject.text), identityKey(all)
	return r, nil
}

// UnmarshalJSON reads a claim as an object, or its text alone.
func (c *lineClaim) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		return c.Text.UnmarshalJSON(raw)
	}
	type object lineClaim
	c.wrong = json.Unmarshal(raw, (*object)(c))
	return nil
}

// says returns what a claim of an aspect is called, and its value.
func (c *lineClaim) says(aspect reverie.Aspect) (name, value string, err error) {
	named, said := c.Key, c.Value
	switch aspect {
	case reverie.AspectImpression:
		named, said = word{}, c.Text
	case reverie.AspectRelation:
		named, said = c.Kind, c.Target
		said.text = plainName(said.text)
	}
	switch {
	case c.wrong != nil:
		return "", "", fmt.Errorf("%s: a field has the wrong type: %w", aspect, c.wrong)
	case named.text == "" && aspect != reverie.AspectImpression:
		return "", "", fmt.Errorf("a %s without a name for what it says: %w", aspect, reverie.ErrInvalid)
	case said.text == "":
		return "", "", fmt.Errorf("a %s that says nothing: %w", aspect, reverie.ErrInvalid)
	}
	return named.text, said.text, nil
}

// plainName is a name without the @ by which it was called.
func plainName(name string) string { return strings.TrimSpace(strings.TrimLeft(name, "@＠ ")) }

// word is a string, or a number as it is written; null is "". What is neither is "", and
// so is a text with a NUL: it is in none that anybody wrote, and PostgreSQL keeps none.
type word struct {
	text  string
	wrong error
}

// UnmarshalJSON reads a word.
func (w *word) UnmarshalJSON(raw []byte) error {
	var number json.Number
	switch {
	case json.Unmarshal(raw, &w.text) == nil && strings.ContainsRune(w.text, 0):
		*w = word{wrong: errors.New("a NUL stands in it")}
	case json.Unmarshal(raw, &w.text) == nil:
		w.text = strings.TrimSpace(w.text)
	case json.Unmarshal(raw, &number) == nil:
		w.text = number.String()
	default:
		w.wrong = errors.New("neither a string nor a number")
	}
	return nil
}

// share reads a number within 0..1, which may be written as a string.
func (w word) share() (float64, error) {
	if w.text == "" {
		return 0, errors.New("no confidence is given: say one between 0 and 1")
	}
	f, err := strconv.ParseFloat(w.text, 64)
	if err != nil || !within(f) {
		return 0, fmt.Errorf("the confidence %q is no number between 0 and 1", text.Excerpt(w.text, 20))
	}
	return f, nil
}

// many is a list, or a single item.
type many[T any] []T

// UnmarshalJSON reads a list, or a single item.
func (m *many[T]) UnmarshalJSON(raw []byte) error {
	var list []T
	if json.Unmarshal(raw, &list) != nil {
		list = make([]T, 1)
		if err := json.Unmarshal(raw, &list[0]); err != nil {
			return err
		}
	}
	*m = list
	return nil
}

// features are a list, a single one, or an object of keys and values.
type features []lineClaim

// UnmarshalJSON reads features.
func (f *features) UnmarshalJSON(raw []byte) error {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil || object["key"] != nil {
		return (*many[lineClaim])(f).UnmarshalJSON(raw)
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		var c lineClaim
		item, err := json.Marshal(map[string]any{"key": key, "value": object[key]})
		if err != nil {
			return err
		}
		c.wrong = json.Unmarshal(item, &c)
		*f = append(*f, c)
	}
	return nil
}

// citations are a list of citations, or a single one. What has another form cites nothing.
type citations []reverie.Citation

// UnmarshalJSON reads citations.
func (c *citations) UnmarshalJSON(raw []byte) error {
	var list many[json.RawMessage]
	_ = json.Unmarshal(raw, &list) // any value is one
	for _, item := range list {
		if some, err := answer.Citations(item); err == nil {
			*c = append(*c, some...)
		}
	}
	return nil
}

// identityKey returns the first key of an object, or of what its lists hold, by which a
// model would choose an identity, or what is done with it. Keys are compared by their
// letters alone. What evidence consists of is verified anyway.
func identityKey(value any) string {
	list, _ := value.([]any)
	for _, item := range list {
		if key := identityKey(item); key != "" {
			return key
		}
	}
	object, _ := value.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(object)) {
		letters := strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) {
				return unicode.ToLower(r)
			}
			return -1
		}, key)
		if words().identity[letters] {
			return key
		}
		if inner := identityKey(object[key]); inner != "" && letters != "evidence" {
			return inner
		}
	}
	return ""
}

// evidence verifies citations: each must quote a message of the question that a
// member wrote, and the words must stand in it. Of several quotes from one
// message the longest is kept. A quote in which its author speaks of
// themselves is none for anybody else; whom other words mean is the model's to see.
func (p *parser) evidence(list citations, of reverie.Observation) (found []reverie.Evidence) {
	for _, c := range list {
		n, err := strconv.Atoi(c.Message)
		if err != nil || n < 1 || n > len(p.messages) {
			continue
		}
		m := p.messages[n-1]
		if m.Role != reverie.RoleUser || !text.VerifyQuote(c.Quote, m.Text) || p.ofItsAuthor(of, c.Quote, m) {
			continue
		}
		e := safety.EvidenceOf(m, c.Quote, p.loc)
		at := slices.IndexFunc(found, func(e reverie.Evidence) bool { return e.MessageID == m.ID })
		switch {
		case at < 0:
			found = append(found, e)
		case len(e.Quote) > len(found[at].Quote):
			found[at] = e
		}
	}
	return found
}

// ofItsAuthor tells a quote in the first person that names somebody other than its
// author nowhere, and is said to be about that other.
func (p *parser) ofItsAuthor(of reverie.Observation, quote string, m reverie.Message) bool {
	if of.Kind == reverie.EntityThing || of.Account == m.AuthorID || of.Account == "" &&
		p.participants.shows(m.AuthorID, text.NameKey(of.Subject)) {
		return false
	}
	text := strings.ReplaceAll(textForm(quote), "我们", "")
	says := func(name string) bool { return len(places(text, name)) > 0 }
	return slices.ContainsFunc(words().firstPerson, says) && !slices.ContainsFunc(p.namesOf(of), says)
}

// namesOf are the names of a subject as far as they are known here.
func (p *parser) namesOf(o reverie.Observation) []string {
	names := []string{o.Subject}
	if a := p.participants.accounts[o.Account]; a != nil {
		names = append(names, a.names...)
	}
	return names
}

// aliases keeps those further names of an observation's subject that are proven: the
// account has shown them, or a quote has them. The name of somebody else who writes here
// is no alias, so that a model cannot join two people.
func (p *parser) aliases(names []word, o reverie.Observation, said []reverie.Evidence) []string {
	var proven []string
	seen := map[string]bool{text.NameKey(o.Subject): true}
	for _, name := range names {
		alias := plainName(name.text)
		key := text.NameKey(alias)
		if name.text == "" || seen[key] || o.Account != "" && p.participants.labels[key] == o.Account {
			continue
		}
		seen[key] = true
		if rule, detail := checkName(alias); rule != "" {
			p.refuse("alias", alias, rule, detail)
			continue
		}
		if shown := p.participants.bearers(key); len(shown) > 0 && !slices.Equal(shown, []string{o.Account}) {
			p.refuse("alias", alias, ruleAlias, "somebody else who writes here goes by it")
			continue
		}
		if !p.participants.shows(o.Account, key) && !slices.ContainsFunc(said,
			func(e reverie.Evidence) bool { return p.proves(e, alias, o) }) {
			p.refuse("alias", alias, ruleAlias, "no quote of this line says that its subject is called so")
			continue
		}
		proven = append(proven, alias)
	}
	return proven
}

// bearers are the accounts of the participants that show a name, or have it as their label,
// sorted.
func (c *participants) bearers(key string) []string {
	var list []string
	for id := range c.accounts {
		if c.shows(id, key) || c.labels[key] == id {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

// shows tells whether an account has gone by a name in the chunk.
func (c *participants) shows(id, key string) bool {
	a := c.accounts[id]
	return a != nil && slices.ContainsFunc(a.names, func(name string) bool { return text.NameKey(name) == key })
}

// proves tells whether a quote may say that a subject is called by an alias: the alias
// stands in it with a word for calling, and so does another name of the subject, or the
// subject says it.
func (p *parser) proves(e reverie.Evidence, alias string, o reverie.Observation) bool {
	text := textForm(e.Quote)
	calls := slices.ContainsFunc(words().aliasCues, func(cue string) bool { return strings.Contains(text, cue) })
	if !calls || len(places(text, alias)) == 0 {
		return false
	}
	return o.Account != "" && e.AuthorID == o.Account ||
		slices.ContainsFunc(p.namesOf(o), func(name string) bool { return len(places(text, name)) > 0 })
}
