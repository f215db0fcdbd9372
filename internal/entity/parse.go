package entity

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"reverie/internal/llm/lines"
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
func parse(b batch, c *participants, loc *time.Location, answer lines.Result) (list []reverie.Observation,
	refused []reverie.Refusal, usable bool) {
	p := &parser{batch: b, participants: c, loc: loc}
	for _, l := range answer.Lines {
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
