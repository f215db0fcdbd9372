package entity

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"reverie/internal/llm/answer"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// The rules by which the impression job refuses lines, besides those for statements ([safety.Rule]).
const (
	ruleForm        = "form"        // the line is an object, but no observation, or a claim lacks a field
	ruleIdentity    = "identity"    // an id in place of a name
	ruleName        = "name"        // a name that nobody said, or that means nobody in particular
	ruleAlias       = "alias"       // no quote proves the alias
	ruleEvidence    = "evidence"    // none of the cited evidence could be verified
	ruleConfidence  = "confidence"  // missing, outside 0..1, or too low
	ruleBoilerplate = "boilerplate" // it says nothing about its subject
	ruleOutdated    = "outdated"    // the known claim has later evidence
	ruleTarget      = "target"      // a relation to itself, or to something that the plan cannot name
	ruleExpired     = "expired"     // postponed for too long
)

// parse reads the answer to a batch. It returns observations with verified words, evidence and aliases, and the refused
// lines. An answer is usable if at least one line has the form of an observation, or says explicitly that there is
// none.
func parse(b batch, c *participants, loc *time.Location, read answer.Result) (list []reverie.Observation,
	refused []reverie.Refusal, usable bool) {
	p := &parser{batch: b, participants: c, loc: loc}
	for _, l := range read.Lines {
		p.line = l.No
		r, err := readLine(l.Object)
		switch {
		case err != nil:
			p.refuse("", "", ruleForm, err.Error())
		case r.Subject == "":
			usable = true
		default:
			usable = true
			if o, ok := p.check(r); ok {
				list = append(list, o)
			}
		}
	}
	for no, why := range read.Swallowed() {
		p.line, usable = no, true
		p.refuse("", "", ruleForm, why)
	}
	slices.SortStableFunc(p.refused, func(a, b reverie.Refusal) int { return a.Line - b.Line })
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

// handle makes a name safe for a refusal: short, and without secrets.
func handle(name string) string { return text.Excerpt(safety.MaskSecrets(name), 40) }

// check checks one line against the question.
func (p *parser) check(r answer.Observation) (o reverie.Observation, ok bool) {
	if o, ok = p.subject(r); !ok {
		return o, false
	}
	shared := p.evidence(r.Evidence, o)
	said, claims := slices.Clone(shared), 0
	for _, of := range []struct {
		aspect reverie.Aspect
		claims []json.RawMessage
	}{{reverie.AspectImpression, r.Impressions}, {reverie.AspectFeature, r.Features},
		{reverie.AspectRelation, r.Relations}} {
		claims += len(of.claims)
		for _, raw := range of.claims {
			c, rule, detail := p.claim(of.aspect, raw, r, o, shared)
			if rule != "" {
				p.refuse(string(of.aspect), r.Subject, rule, detail)
				continue
			}
			o.Claims, said = append(o.Claims, c), append(said, c.Evidence...)
		}
	}
	o.Aliases = p.aliases(r.Aliases, o, said)
	o.LastAt = newest(said)
	if len(o.Claims) == 0 && len(o.Aliases) == 0 {
		if claims == 0 {
			p.refuse("", r.Subject, string(safety.RuleEmpty), "it says nothing of its subject")
		}
		return o, false
	}
	return o, true
}

// subject determines whom a line is about: an account of the participants by its label, or a name. A thing is no
// account, even if a participant has its name. A bot, or a label with a number, is always the account.
func (p *parser) subject(r answer.Observation) (o reverie.Observation, ok bool) {
	key, kind := text.NameKey(r.Subject), reverie.EntityKind(strings.ToLower(strings.TrimSpace(r.Kind)))
	if a := p.participants.labelled(r.Subject); a != nil && (kind != reverie.EntityThing ||
		a.kind == reverie.EntityBot || withoutNumber(a.label) != key) {
		return reverie.Observation{Subject: a.name(), Account: a.id, Kind: a.kind}, true
	}
	if rule, detail := p.checkName(r.Subject); rule != "" {
		p.refuse("subject", r.Subject, rule, detail)
		return o, false
	}
	o = reverie.Observation{Subject: r.Subject, Kind: kind}
	if at := slices.IndexFunc(p.subjects, func(s active) bool { return text.NameKey(s.label) == key }); at >= 0 &&
		p.subjects[at].entityID != "" {
		o.Kind = p.subjects[at].kind
	}
	if slices.Contains(reverie.EntityKinds, o.Kind) {
		return o, true
	}
	p.refuse("subject", r.Subject, ruleForm, fmt.Sprintf("kind %q is none of person, bot, thing",
		text.Excerpt(string(kind), 20)))
	return o, false
}

// checkName refuses unsuitable names. It also refuses a name that no subject or member has and no message of the
// question contains, because the model invented it.
func (p *parser) checkName(name string) (rule, detail string) {
	if rule, detail = checkName(name); rule != "" {
		return rule, detail
	}
	key := text.NameKey(name)
	if slices.ContainsFunc(p.subjects, func(s active) bool { return text.NameKey(s.label) == key }) ||
		len(p.participants.bearers(key)) > 0 ||
		slices.ContainsFunc(p.messages, func(m reverie.Message) bool {
			return len(places(textForm(m.Text),
				name)) > 0
		}) {
		return "", ""
	}
	return ruleName, fmt.Sprintf("no message of this question names %q", handle(name))
}

// claim checks one claim about a subject. rule says why it is refused, "" if it is not.
func (p *parser) claim(aspect reverie.Aspect, raw json.RawMessage, of answer.Observation, o reverie.Observation,
	shared []reverie.Evidence) (c reverie.ObservedClaim, rule, detail string) {
	said, name, value, err := readClaim(aspect, raw)
	if err != nil {
		return c, ruleForm, err.Error()
	}
	c = reverie.ObservedClaim{Aspect: aspect, Name: name, Value: value, Evidence: shared,
		Reason: safety.CleanReason(cmp.Or(said.Reason, of.Reason))}
	if text.Storable(said.Replaces) {
		c.Replaces = strings.TrimSpace(said.Replaces)
	}
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
	confidence := said.Confidence
	if isAbsent(confidence) {
		confidence = of.Confidence
	}
	if c.Confidence, err = answer.Share(confidence); err != nil {
		return c, ruleConfidence, fmt.Sprintf("confidence: %v", err)
	}
	if !isAbsent(said.Evidence) {
		c.Evidence = p.evidence(said.Evidence, o)
	}
	if len(c.Evidence) == 0 {
		return c, ruleEvidence, "none of its quotes stands in a member's message of this question"
	}
	return c, "", ""
}

// isAbsent reports whether a value is missing or null.
func isAbsent(raw json.RawMessage) bool { return raw == nil || string(raw) == "null" }

// checkClaim checks the words of a claim by the rules of statements, each part alone and all together.
func checkClaim(c reverie.ObservedClaim) (rule, detail string) {
	if rule, detail = checkWords(c.Value, reverie.MaxValueLength); rule != "" || c.Aspect == reverie.AspectImpression {
		return rule, detail
	}
	if rule, detail = checkWords(c.Name, reverie.MaxNameLength); rule != "" {
		return rule, detail
	}
	return checkWords(c.Name+": "+c.Value, reverie.MaxStatement)
}

// labelled returns the account with a label of the question, or nil.
func (c *participants) labelled(name string) *account {
	return c.accounts[c.labels[text.NameKey(name)]]
}

// name returns the name under which an account is stored: one of its own, or else its id.
func (a *account) name() string {
	if name := a.suitableName(); name != "" {
		return name
	}
	if isShown(a.id) && text.NameKey(a.id) != "" {
		return a.id
	}
	return fallbackLabel
}

// readLine reads one object.
func readLine(object json.RawMessage) (r answer.Observation, err error) {
	if err := json.Unmarshal(object, &r); err != nil {
		return r, fmt.Errorf("a field has the wrong type: %w", err)
	}
	if r.Subject = plainName(r.Subject); r.Subject == "" && !r.None {
		return r, errors.New(`no "subject"`)
	}
	return r, nil
}

// readClaim reads a claim, its name and its value. An impression may consist of its text alone.
func readClaim(aspect reverie.Aspect, raw json.RawMessage) (c answer.Claim, name, value string, err error) {
	if aspect != reverie.AspectImpression || json.Unmarshal(raw, &c.Text) != nil {
		err = json.Unmarshal(raw, &c)
	}
	switch aspect {
	case reverie.AspectImpression:
		value = c.Text
	case reverie.AspectFeature:
		name = c.Key
		if value, _ = answer.Scalar(c.Value); value == "" && err == nil {
			err = errors.New("its value is neither a text nor a whole number")
		}
	case reverie.AspectRelation:
		name, value = c.Kind, plainName(c.Target)
	}
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	switch {
	case err != nil:
		err = fmt.Errorf("%s: %w", aspect, err)
	case name == "" && aspect != reverie.AspectImpression:
		err = fmt.Errorf("a %s without a name for what it says", aspect)
	case value == "":
		err = fmt.Errorf("a %s that says nothing", aspect)
	}
	return c, name, value, err
}

// plainName removes the @ before a name.
func plainName(name string) string { return strings.TrimSpace(strings.TrimLeft(name, "@＠ ")) }

// evidence verifies citations: each must quote a message of the question by a member, word for word. Of several quotes
// from one message it keeps the longest. A message by a namesake of the subject is no evidence, because the model may
// have confused the two.
func (p *parser) evidence(cited json.RawMessage, of reverie.Observation) (found []reverie.Evidence) {
	list, _ := answer.Citations(cited) // another form cites nothing
	for _, c := range list {
		n, err := strconv.Atoi(c.Message)
		if err != nil || n < 1 || n > len(p.messages) {
			continue
		}
		m := p.messages[n-1]
		if m.Role != reverie.RoleUser || !text.VerifyQuote(c.Quote, m.Text) ||
			p.participants.namesakes(m.AuthorID, of.Account) {
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

// aliases keeps the further names of a subject that are proven: the account has shown them, or a quote contains them.
// The name of another participant is no alias, so that a model cannot join two people.
func (p *parser) aliases(names []string, o reverie.Observation, said []reverie.Evidence) []string {
	var proven []string
	seen := map[string]bool{text.NameKey(o.Subject): true}
	for _, name := range names {
		alias := plainName(name)
		key := text.NameKey(alias)
		if alias == "" || seen[key] || o.Account != "" && p.participants.labels[key] == o.Account {
			continue
		}
		seen[key] = true
		rule, detail := checkName(alias)
		if shown := p.participants.bearers(key); rule == "" && len(shown) > 0 && !slices.Equal(shown, []string{o.Account}) {
			rule, detail = ruleAlias, "somebody else who writes here goes by it"
		}
		if rule == "" && !p.participants.shows(o.Account, key) &&
			!slices.ContainsFunc(said, func(e reverie.Evidence) bool { return p.proves(e, alias, o) }) {
			rule, detail = ruleAlias, "no quote of this line has it beside a name of its subject"
		}
		if rule != "" {
			p.refuse("alias", alias, rule, detail)
			continue
		}
		proven = append(proven, alias)
	}
	return proven
}

// bearers returns the accounts that show a name or have it as their label, sorted.
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

// namesakes reports whether two accounts have shown the same name in the chunk.
func (c *participants) namesakes(id, other string) bool {
	a := c.accounts[other]
	return a != nil && id != other && slices.ContainsFunc(a.keys(), func(key string) bool { return c.shows(id, key) })
}

// shows reports whether an account has shown a name in the chunk.
func (c *participants) shows(id, key string) bool {
	a := c.accounts[id]
	return a != nil && slices.ContainsFunc(a.names, func(name string) bool { return text.NameKey(name) == key })
}

// proves reports whether a quote links an alias to its subject: the quote contains the alias, and the subject is named
// in its other words or is its author.
func (p *parser) proves(e reverie.Evidence, alias string, o reverie.Observation) bool {
	if o.Account != "" && e.AuthorID == o.Account {
		return len(places(textForm(e.Quote), alias)) > 0
	}
	names := []string{o.Subject}
	if a := p.participants.accounts[o.Account]; a != nil {
		names = append(names, a.names...)
	}
	return slices.ContainsFunc(names, func(name string) bool { return occurSeparately(e.Quote, name, alias) })
}

// occurSeparately reports whether two names occur separately in a text. If one is part of the other, both must occur.
func occurSeparately(s, name, other string) bool {
	s = textForm(s)
	others := places(s, other)
	return slices.ContainsFunc(places(s, name), func(a [2]int) bool {
		return slices.ContainsFunc(others, func(b [2]int) bool { return a[1] <= b[0] || b[1] <= a[0] })
	})
}
