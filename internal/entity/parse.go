package entity

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
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
		case r.none:
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
	shared := p.evidence(r.evidence, o)
	said := slices.Clone(shared)
	for _, answerLine := range r.claims {
		claim, ok := p.claim(answerLine, r, o, shared)
		if ok {
			o.Claims = append(o.Claims, claim)
			said = append(said, claim.Evidence...)
		}
	}
	o.Aliases = p.aliases(r.aliases, o, said)
	for _, e := range said {
		if e.SentAt.After(o.LastAt) {
			o.LastAt = e.SentAt
		}
	}
	if len(o.Claims) == 0 && len(o.Aliases) == 0 {
		if len(r.claims) == 0 {
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
	key := text.NameKey(r.subject)
	if a := p.participants.labelled(r.subject); a != nil && (r.kind != string(reverie.EntityThing) ||
		a.kind == reverie.EntityBot || bare(a.label) != key) {
		return reverie.Observation{Subject: a.name(), Account: a.id, Kind: a.kind}, true
	}
	if rule, detail := p.checkName(r.subject); rule != "" {
		p.refuse("subject", r.subject, rule, detail)
		return o, false
	}
	o = reverie.Observation{Subject: r.subject, Kind: reverie.EntityKind(r.kind)}
	if at := slices.IndexFunc(p.subjects, func(s subject) bool { return text.NameKey(s.label) == key }); at >= 0 &&
		p.subjects[at].entityID != "" {
		o.Kind = p.subjects[at].kind
	}
	switch o.Kind {
	case reverie.EntityPerson, reverie.EntityBot, reverie.EntityThing:
		return o, true
	}
	p.refuse("subject", r.subject, ruleForm, fmt.Sprintf("kind %q is none of person, bot, thing",
		text.Excerpt(r.kind, 20)))
	return o, false
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

// claim checks one thing that is said of a subject.
func (p *parser) claim(r lineClaim, of answerLine, o reverie.Observation,
	shared []reverie.Evidence) (c reverie.ObservedClaim, ok bool) {
	no := func(rule, detail string) (reverie.ObservedClaim, bool) {
		p.refuse(string(r.aspect), of.subject, rule, detail)
		return reverie.ObservedClaim{}, false
	}
	if r.err != nil {
		return no(ruleForm, r.err.Error())
	}
	c = reverie.ObservedClaim{Aspect: r.aspect, Name: r.name, Value: r.value, Replaces: r.replaces, Evidence: shared,
		Reason: safety.CleanReason(cmp.Or(r.reason, of.reason))}
	if r.aspect == reverie.AspectRelation {
		if a := p.participants.labelled(r.value); a != nil {
			c.Value, c.Account = a.name(), a.id
		} else if rule, detail := p.checkName(r.value); rule != "" {
			return no(rule, detail)
		}
		if c.Account != "" && c.Account == o.Account || c.Account == o.Account &&
			text.NameKey(c.Value) == text.NameKey(o.Subject) {
			return no(ruleTarget, "it relates its subject to itself")
		}
	}
	if rule, detail := checkClaim(c); rule != "" {
		return no(rule, detail)
	}
	said, err := r.confidence, error(nil)
	if said == nil {
		said = of.confidence
	}
	if c.Confidence, err = readConfidence(said); err != nil {
		return no(ruleConfidence, err.Error())
	}
	if r.evidence != nil {
		c.Evidence = p.evidence(r.evidence, o)
	}
	if len(c.Evidence) == 0 {
		return no(ruleEvidence, "none of its quotes stands in a member's message of this question")
	}
	return c, true
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
// it has been checked yet.
type answerLine struct {
	none       bool   // it says on purpose that there is nothing
	identity   string // a key that is not for a model, "" without one
	subject    string
	kind       string
	aliases    []string
	reason     string
	confidence json.RawMessage
	evidence   json.RawMessage
	claims     []lineClaim
}

// lineClaim is one claim of a line.
type lineClaim struct {
	aspect     reverie.Aspect
	name       string // a feature's key, a relation's kind
	value      string
	replaces   string
	reason     string
	confidence json.RawMessage // nil: as the line's
	evidence   json.RawMessage // nil: as the line's
	err        error           // what is wrong with its form
}

// readLine reads one object, loosely where a model's habit does no harm:
// numbers as strings, one item instead of a list, an impression as a plain
// string, features as an object, keys that we do not know.
func readLine(object json.RawMessage) (r answerLine, err error) {
	var raw struct {
		None        bool            `json:"none"`
		Subject     json.RawMessage `json:"subject"`
		Kind        json.RawMessage `json:"kind"`
		Aliases     json.RawMessage `json:"aliases"`
		Reason      json.RawMessage `json:"reason"`
		Confidence  json.RawMessage `json:"confidence"`
		Evidence    json.RawMessage `json:"evidence"`
		Impressions json.RawMessage `json:"impressions"`
		Features    json.RawMessage `json:"features"`
		Relations   json.RawMessage `json:"relations"`
	}
	if err := json.Unmarshal(object, &raw); err != nil {
		return r, fmt.Errorf("a field has the wrong type: %w", err)
	}
	if raw.None && raw.Subject == nil {
		return answerLine{none: true}, nil
	}
	if r.subject, err = word(raw.Subject); err != nil || r.subject == "" {
		return r, errors.New(`no "subject"`)
	}
	r.subject = plainName(r.subject)
	if r.kind, err = word(raw.Kind); err != nil {
		return r, fmt.Errorf("kind: %w", err)
	}
	r.kind = strings.ToLower(r.kind)
	r.reason, _ = word(raw.Reason) // decoration: what is no string is left out
	r.confidence, r.evidence = given(raw.Confidence), given(raw.Evidence)
	for _, item := range items(raw.Aliases) {
		if alias, err := word(item); err == nil && alias != "" {
			r.aliases = append(r.aliases, plainName(alias))
		}
	}
	r.identity = identityKey(object)
	r.read(reverie.AspectImpression, items(raw.Impressions))
	r.read(reverie.AspectFeature, features(raw.Features))
	r.read(reverie.AspectRelation, items(raw.Relations))
	return r, nil
}

// read adds the claims of one aspect.
func (r *answerLine) read(aspect reverie.Aspect, list []json.RawMessage) {
	for _, item := range list {
		c := lineClaim{aspect: aspect}
		c.err = c.read(item)
		r.claims = append(r.claims, c)
	}
}

func (c *lineClaim) read(item json.RawMessage) error {
	var raw struct {
		Text       json.RawMessage `json:"text"`
		Key        json.RawMessage `json:"key"`
		Value      json.RawMessage `json:"value"`
		Kind       json.RawMessage `json:"kind"`
		Target     json.RawMessage `json:"target"`
		Replaces   json.RawMessage `json:"replaces"`
		Reason     json.RawMessage `json:"reason"`
		Confidence json.RawMessage `json:"confidence"`
		Evidence   json.RawMessage `json:"evidence"`
	}
	if c.aspect == reverie.AspectImpression && len(item) > 0 && item[0] == '"' {
		raw.Text = item
	} else if err := json.Unmarshal(item, &raw); err != nil {
		return fmt.Errorf("%s: a field has the wrong type: %w", c.aspect, err)
	}
	c.confidence, c.evidence = given(raw.Confidence), given(raw.Evidence)
	c.reason, _ = word(raw.Reason)
	c.replaces, _ = word(raw.Replaces)
	name, value := raw.Key, raw.Value
	switch c.aspect {
	case reverie.AspectImpression:
		name, value = nil, raw.Text
	case reverie.AspectRelation:
		name, value = raw.Kind, raw.Target
	}
	var err error
	if c.name, err = word(name); err != nil || c.name == "" && c.aspect != reverie.AspectImpression {
		return fmt.Errorf("a %s without a name for what it says: %w", c.aspect, reverie.ErrInvalid)
	}
	if c.value, err = word(value); err != nil || c.value == "" {
		return fmt.Errorf("a %s that says nothing: %w", c.aspect, reverie.ErrInvalid)
	}
	if c.aspect == reverie.AspectRelation {
		c.value = plainName(c.value)
	}
	return nil
}

// plainName is a name without the @ by which it was called.
func plainName(name string) string { return strings.TrimSpace(strings.TrimLeft(name, "@＠ ")) }

// given is a field that is there; null is none.
func given(raw json.RawMessage) json.RawMessage {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return raw
}

// items reads a list, or a single item.
func items(raw json.RawMessage) []json.RawMessage {
	if raw = given(raw); raw == nil {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		for i := range list {
			list[i] = bytes.TrimSpace(list[i])
		}
		return list
	}
	return []json.RawMessage{raw}
}

// features reads a list of features, a single one, or an object of keys and
// values.
func features(raw json.RawMessage) []json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil || object["key"] != nil {
		return items(raw)
	}
	var list []json.RawMessage
	for _, key := range slices.Sorted(maps.Keys(object)) {
		item, err := json.Marshal(map[string]any{"key": key, "value": object[key]})
		if err == nil {
			list = append(list, item)
		}
	}
	return list
}

// word reads a string, or a number as it is written; null and nothing are "". A
// NUL is in no text that anybody wrote, and PostgreSQL keeps none.
func word(raw json.RawMessage) (string, error) {
	if raw = given(raw); raw == nil {
		return "", nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		if strings.ContainsRune(s, 0) {
			return "", errors.New("a NUL stands in it")
		}
		return strings.TrimSpace(s), nil
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String(), nil
	}
	return "", errors.New("neither a string nor a number")
}

// readConfidence reads a number within 0..1, which may be written as a string.
func readConfidence(raw json.RawMessage) (float64, error) {
	s, err := word(raw)
	if err != nil || s == "" {
		return 0, errors.New("no confidence is given: say one between 0 and 1")
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > 1 {
		return 0, fmt.Errorf("the confidence %q is no number between 0 and 1", text.Excerpt(s, 20))
	}
	return f, nil
}

// identityKeys are keys by which a model would choose an identity, or what is
// done with it. They are compared by their letters alone.
var identityKeys = map[string]bool{
	"id": true, "ids": true, "uuid": true, "entity": true, "entityid": true, "entityids": true, "subjectid": true,
	"targetid": true, "oldid": true,
	"newid": true, "claimid": true, "lineageid": true, "memoryid": true, "account": true, "accountid": true,
	"authorid": true, "userid": true, "nameid": true,
	"action": true, "operation": true, "op": true, "create": true, "update": true, "delete": true, "merge": true,
	"mergewith": true, "mergeinto": true,
	"mergedinto": true, "sameas": true, "matchingids": true,
}

// identityKey returns the first key of an object, or of what its lists hold, that
// is not for a model. What evidence consists of is verified anyway.
func identityKey(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' && raw[0] != '[' {
		return ""
	}
	if raw[0] == '[' {
		for _, item := range items(raw) {
			if key := identityKey(item); key != "" {
				return key
			}
		}
		return ""
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return ""
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		letters := strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) {
				return unicode.ToLower(r)
			}
			return -1
		}, key)
		if identityKeys[letters] {
			return key
		}
		if letters == "evidence" {
			continue
		}
		if inner := identityKey(object[key]); inner != "" {
			return inner
		}
	}
	return ""
}
