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

// The rules by which impression refuses what a model says, besides those for
// statements ([safety.Rule]).
const (
	ruleForm        = "form"        // an object, but no observation, or a claim without what it needs
	ruleIdentity    = "identity"    // an id in place of a name
	ruleName        = "name"        // a name that means nobody in particular, or that nobody said
	ruleAlias       = "alias"       // nothing that was said proves it
	ruleEvidence    = "evidence"    // nothing that it cites stands up
	ruleConfidence  = "confidence"  // none, not within 0..1, or too low
	ruleBoilerplate = "boilerplate" // it says nothing of its subject
	ruleOutdated    = "outdated"    // what is known rests on later words
	ruleTarget      = "target"      // a relation to itself, or to what the plan cannot name
	ruleExpired     = "expired"     // waited too long to be sure of
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

// handle is a name as a refusal may repeat it.
func handle(name string) string { return text.Excerpt(safety.MaskSecrets(name), 40) }

// check holds one line against the question.
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

// subject settles whom a line is about: an account of the participants by its label, or
// a name. A thing is no account, though a person here may be called like it; a bot,
// or a label with a number, is nothing else.
func (p *parser) subject(r answer.Observation) (o reverie.Observation, ok bool) {
	key, kind := text.NameKey(r.Subject), reverie.EntityKind(strings.ToLower(strings.TrimSpace(r.Kind)))
	if a := p.participants.labelled(r.Subject); a != nil && (kind != reverie.EntityThing ||
		a.kind == reverie.EntityBot || bare(a.label) != key) {
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

// checkName refuses what cannot name anybody or anything, and a name that is
// neither a subject's or a member's nor in a message of the question: nobody has
// said it.
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

// claim checks one thing that is said of a subject. rule says by what it is refused.
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

// isAbsent tells whether a value is not there, or null.
func isAbsent(raw json.RawMessage) bool { return raw == nil || string(raw) == "null" }

// checkClaim holds the words of a claim against the rules of text, each alone and
// together as they will be read.
func checkClaim(c reverie.ObservedClaim) (rule, detail string) {
	if rule, detail = checkWords(c.Value, reverie.MaxValueLength); rule != "" || c.Aspect == reverie.AspectImpression {
		return rule, detail
	}
	if rule, detail = checkWords(c.Name, reverie.MaxNameLength); rule != "" {
		return rule, detail
	}
	return checkWords(c.Name+": "+c.Value, reverie.MaxStatement)
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

// readClaim reads a claim, what it is called and its value. An impression may be its
// text alone.
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

// plainName is a name without the @ by which it was called.
func plainName(name string) string { return strings.TrimSpace(strings.TrimLeft(name, "@＠ ")) }

// evidence verifies citations: each must quote a message of the question that a
// member wrote, and the words must stand in it. Of several quotes from one
// message the longest is kept. What one of two of a name has written is none for the
// other: a model that took one for the other would make one person's words another's.
func (p *parser) evidence(cited json.RawMessage, of reverie.Observation) (found []reverie.Evidence) {
	list, _ := answer.Citations(cited) // what has another form cites nothing
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

// aliases keeps those further names of an observation's subject that are proven: the
// account has shown them, or a quote has them. The name of somebody else who writes here
// is no alias, so that a model cannot join two people.
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

// namesakes tells whether two accounts have gone by one name in the chunk.
func (c *participants) namesakes(id, other string) bool {
	a := c.accounts[other]
	return a != nil && id != other && slices.ContainsFunc(a.keys(), func(key string) bool { return c.shows(id, key) })
}

// shows tells whether an account has gone by a name in the chunk.
func (c *participants) shows(id, key string) bool {
	a := c.accounts[id]
	return a != nil && slices.ContainsFunc(a.names, func(name string) bool { return text.NameKey(name) == key })
}

// proves tells whether a quote has both names: the alias in its words, and its subject in
// others of them, or as its author.
func (p *parser) proves(e reverie.Evidence, alias string, o reverie.Observation) bool {
	if o.Account != "" && e.AuthorID == o.Account {
		return len(places(textForm(e.Quote), alias)) > 0
	}
	names := []string{o.Subject}
	if a := p.participants.accounts[o.Account]; a != nil {
		names = append(names, a.names...)
	}
	return slices.ContainsFunc(names, func(name string) bool { return standApart(e.Quote, name, alias) })
}

// standApart tells whether two names stand in a text beside each other: of one that is
// part of the other, both.
func standApart(s, name, other string) bool {
	s = textForm(s)
	others := places(s, other)
	return slices.ContainsFunc(places(s, name), func(a [2]int) bool {
		return slices.ContainsFunc(others, func(b [2]int) bool { return a[1] <= b[0] || b[1] <= a[0] })
	})
}
