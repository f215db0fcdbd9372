package entity

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"reverie/internal/reverie"
)

// citations reads a list of citations, or a single one. What has another form
// cites nothing.
func citations(raw json.RawMessage) (list []reverie.Citation) {
	for _, item := range items(raw) {
		var c struct {
			Message json.RawMessage `json:"message"`
			Quote   json.RawMessage `json:"quote"`
		}
		if len(item) == 0 || item[0] != '{' || json.Unmarshal(item, &c) != nil {
			continue
		}
		message, err := word(c.Message)
		quote, badQuote := word(c.Quote)
		if err == nil && badQuote == nil {
			list = append(list, reverie.Citation{Message: message, Quote: quote})
		}
	}
	return list
}

// evidence verifies citations: each must quote a message of the question that a
// member wrote, and the words must stand in it. Of several quotes from one
// message the longest is kept.
func (p *parser) evidence(raw json.RawMessage, of reverie.Observation) []reverie.Evidence {
	var list []reverie.Evidence
	for _, cited := range citations(bytes.TrimSpace(raw)) {
		n, err := strconv.Atoi(cited.Message)
		if err != nil || n < 1 || n > len(p.messages) {
			continue
		}
		m := p.messages[n-1]
		if m.Role != reverie.RoleUser || !reverie.VerifyQuote(cited.Quote, m.Text) || !p.speaksOf(of, cited.Quote, m) {
			continue
		}
		e := reverie.EvidenceOf(m, cited.Quote, p.loc)
		at := slices.IndexFunc(list, func(e reverie.Evidence) bool { return e.MessageID == m.ID })
		switch {
		case at < 0:
			list = append(list, e)
		case len(e.Quote) > len(list[at].Quote):
			list[at] = e
		}
	}
	return list
}

// speaksOf tells whether a quote may speak of somebody. The whole of its clauses
// is looked at, and of its sentences where those name nobody: of "I live in
// Berlin" a model may have quoted "live in Berlin".
//
// A person's own words must not be about somebody else alone. Another's must not
// be about that other alone: they name the person, or mean them by a pronoun.
func (p *parser) speaksOf(of reverie.Observation, quote string, m reverie.Message) bool {
	if of.Kind == reverie.EntityThing {
		return true
	}
	if p.divided[m.ID] == nil {
		p.divided[m.ID] = clauses(m.Text)
	}
	own, sentences := quoted(quote, p.divided[m.ID])
	said := strings.Join(own, ", ")
	if of.Account == m.AuthorID || of.Account == "" && p.cast.shows(m.AuthorID, reverie.NameKey(of.Subject)) {
		if !ownWords(said) && !p.namesAnother(said, m.AuthorID) {
			said = sentences
		}
		return ownWords(said) || !p.namesAnother(said, m.AuthorID)
	}
	switch {
	case p.names(said, of):
		return true
	case slices.ContainsFunc(own, ofItsAuthor):
		return false
	case otherPerson().MatchString(said), p.namesAnother(said, m.AuthorID):
		return true
	}
	return !ofItsAuthor(sentences) || p.names(sentences, of)
}

// ownWords tells words in which somebody speaks of themselves, alone or not.
func ownWords(text string) bool {
	return firstPerson().MatchString(text) || together().MatchString(text)
}

// ofItsAuthor tells words in which somebody speaks of themselves alone.
func ofItsAuthor(text string) bool {
	return firstPerson().MatchString(text) && !otherPerson().MatchString(filler().ReplaceAllString(text, " "))
}

// names tells whether a text names a subject.
func (p *parser) names(text string, of reverie.Observation) bool {
	names := []string{of.Subject}
	if a := p.cast.accounts[of.Account]; a != nil {
		names = append(names, a.names...)
	}
	return slices.ContainsFunc(names, func(name string) bool { return len(places(text, name)) > 0 })
}

// namesAnother tells whether a text names a person besides its author, or one who
// shares the author's name.
func (p *parser) namesAnother(text, author string) bool {
	if p.people == nil {
		var keys []string
		for _, id := range p.cast.order {
			keys = append(keys, p.cast.accounts[id].keys()...)
		}
		for _, s := range p.subjects {
			if s.account == "" && s.kind != reverie.EntityThing {
				keys = append(keys, reverie.NameKey(s.label))
			}
		}
		p.people = newMentions(keys, p.cast.order)
	}
	return slices.ContainsFunc(p.people.find(text), func(key string) bool {
		return key != author && !slices.Equal(p.cast.bearers(key), []string{author})
	})
}

const (
	wordBegins = `(?:^|[^\p{L}\p{N}_])`
	wordEnds   = `(?:$|[^\p{L}\p{N}_])`
)

var (
	firstPerson = onceRegexp(wordBegins + `(?:i|i'm|i’m|im|me|my|mine|myself)` + wordEnds + `|我(?:[^们]|$)|俺(?:[^们]|$)|本人`)
	together    = onceRegexp(wordBegins + `(?:we|us|our|ours)` + wordEnds + `|[我俺]们|咱`)
	otherPerson = onceRegexp(wordBegins + `(?:he|him|his|she|her|hers|they|them|their|you|your|yours|we|us|our|who|whose|both|(?:this|that) (?:guy|girl|man|woman|person|one|kid))` + wordEnds +
		`|[他她你您咱]|[我俺]们|[这那](?:个?人|位|家伙|小子|哥|姐)|大家|@`)
	// filler is a "you" that means nobody.
	filler = onceRegexp(wordBegins + `(?:you (?:know|see)|mind you|thank you)` + wordEnds + `|[你您]们?(?:也|都)?(?:知道|懂)`)
)

// aliases keeps those further names of an observation's subject that are proven,
// so that a model cannot join two people by calling one an alias of the other: a
// name is proven where the account has shown it, where the subject says of
// themselves that it is theirs ("call me Kay"), or where somebody says it of the
// subject by name ("Alex aka Kay"). That both stand in one sentence proves nothing.
func (p *parser) aliases(names []string, o reverie.Observation, said []reverie.Evidence) []string {
	var proven []string
	seen := map[string]bool{reverie.NameKey(o.Subject): true}
	for _, alias := range names {
		key := reverie.NameKey(alias)
		if seen[key] || o.Account != "" && p.cast.labels[key] == o.Account {
			continue
		}
		seen[key] = true
		if rule, detail := checkName(alias); rule != "" {
			p.refuse("alias", alias, rule, detail)
			continue
		}
		if shown := p.cast.bearers(key); len(shown) > 0 && !slices.Equal(shown, []string{o.Account}) {
			p.refuse("alias", alias, ruleAlias, "somebody else who writes here goes by it")
			continue
		}
		if !p.cast.shows(o.Account, key) && !slices.ContainsFunc(said, func(e reverie.Evidence) bool { return p.proves(e, alias, o) }) {
			p.refuse("alias", alias, ruleAlias, "no quote of this line says that its subject is called so")
			continue
		}
		proven = append(proven, alias)
	}
	return proven
}

// bearers are the accounts of a cast that show a name, or have it as their label,
// sorted.
func (c *cast) bearers(key string) []string {
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
func (c *cast) shows(id, key string) bool {
	a := c.accounts[id]
	return a != nil && slices.ContainsFunc(a.names, func(name string) bool { return reverie.NameKey(name) == key })
}

// proves tells whether a message that is quoted says that a subject is called by an
// alias.
func (p *parser) proves(e reverie.Evidence, alias string, o reverie.Observation) bool {
	at := slices.IndexFunc(p.messages, func(m reverie.Message) bool { return m.ID == e.MessageID })
	if at < 0 {
		return false
	}
	own := o.Account != "" && e.AuthorID == o.Account
	subjects := []string{o.Subject}
	if a := p.cast.accounts[o.Account]; a != nil {
		subjects = append(subjects, a.names...)
	}
	text := textForm(p.messages[at].Text) // a quote may end before the words that deny it
	found := places(text, alias)
	for _, at := range found[:min(len(found), maxPlaces)] {
		before, after := text[max(0, at[0]-besideName):at[0]], text[at[1]:min(len(text), at[1]+besideName)]
		if cue := ownCue().FindStringIndex(before); own && cue != nil && !denied().MatchString(before[:cue[0]]) && endsName().MatchString(strings.TrimPrefix(after, "吧")) {
			return true
		}
		for _, subject := range subjects {
			if names := places(before, subject); len(names) > 0 {
				s := names[len(names)-1]
				if calls(before[:s[0]], before[s[1]:], after) {
					return true
				}
			}
			if names := places(after, subject); len(names) > 0 {
				s := names[0]
				if calls(before, after[:s[0]], after[s[1]:]) {
					return true
				}
			}
		}
	}
	return false
}

// A name in a message is looked at so many times at most, with so many bytes on
// either side of it.
const (
	maxPlaces  = 50
	besideName = 400
)

// calls tells whether the words before, between and after two names make them
// names of one.
func calls(before, between, after string) bool {
	if denied().MatchString(before) {
		return false
	}
	if between = strings.TrimSpace(between); between == "(" {
		return strings.HasPrefix(strings.TrimSpace(after), ")")
	}
	return betweenCue().MatchString(between) && (endsName().MatchString(after) || insertion().MatchString(between) && anyWord().MatchString(after))
}

const cueQuote = `["'“”‘’「『《]?`

var (
	// ownCue ends where somebody is about to say their own name.
	ownCue = onceRegexp(`(?:(?:^|[^\p{L}\p{N}])(?:(?:just |please |you can |you may )?call me|i(?:'m| am|’m) (?:also )?(?:called|known as|named)|i go by|(?:my|the) (?:real |full |first |last |old |new |other )?(?:nick|user)?name(?: is|'s|’s| was)|name's|aka|a\.k\.a\.?|(?:i )?(?:renamed|changed my (?:nick)?name)(?: myself)? to)|` +
		`(?:叫|喊|称呼|管)我|我(?:的|现在|以后|就|也|大名|真名|本名|以前|改)*(?:叫做?|名叫|姓名是|名字(?:是|叫)|昵称(?:是|叫)|网名(?:是|叫)|外号(?:是|叫)|小名(?:是|叫)|改名(?:叫|为|成)?)|改名(?:叫|为|成))\s*:?\s*` + cueQuote + `$`)
	// denied ends what stands before a cue that is denied in the same clause.
	denied = onceRegexp(`(?:` + wordBegins + `(?:not|never|nobody|stop|dont|doesnt|didnt|wont|cant|\p{L}+n['’]t)` + wordEnds + `|别(?:[^人]|$)|不(?:[要许准用必想是可该应会]|$)|[没勿甭谁])[^,.;!?，。；！？]*$`)
	// endsName begins what may stand behind a name that is said to be one: the end,
	// or a word that goes on. What else follows may be more of the name, its
	// possession ("Kay's brother", 小红的哥哥), or a question.
	endsName = onceRegexp(`^["'”’」』》]?(?:\s*(?:$|[,.;!)，。；！、~…]|[^\p{L}\p{N}\s'’?？_-])|` +
		`\s+(?:is|was|are|and|or|but|who|has|had|in|at|on|from|for|to|when|while|because|since|as|by|if|now|here|too|again|instead|please|pls|ok|okay|thanks|everyone|everybody|all|` +
		`lives?|lived|likes?|moved|works?|worked|says?|said|will|would|can|does|did|came|comes|went|goes)` + wordEnds + `|` +
		`\s*(?:[了啊呀呢哦嘛啦哈哇噢也都是还又就]|好了|就好|即可|可以|行了|谢谢))`)
	// insertion is a cue behind which the sentence about the first name goes on with
	// any word ("Alex aka Kay sings").
	insertion = onceRegexp(`(?:aka|a\.k\.a\.?|(?:also|better) known as|alias|=)\s*:?\s*` + cueQuote + `$`)
	anyWord   = onceRegexp(`^["'”’]?\s+\p{L}`)
	// betweenCue is all that may stand between two names of one.
	betweenCue = onceRegexp(`^["'”’」』》]?,?\s*(?:\(?(?:aka|a\.k\.a\.?|also known as|better known as|known as|nicknamed|who(?: is|'s) (?:also )?called|(?:is|was) (?:also )?(?:called|known as|nicknamed|named)|also called|called|alias|goes by|is short for|short for|=)|` +
		`\(?(?:也?就是|又名|也叫做?|又叫|全名|真名|本名|大名|小名|外号|昵称|网名|简称|全称|别名|人称|绰号|名叫|叫做)(?:是|叫|为)?)\s*:?\s*` + cueQuote + `$`)
)

// places finds a name in folded text, as a word of its own: the byte offsets where
// it begins and ends.
func places(text, name string) (list [][2]int) {
	key := reverie.NameKey(name)
	if key == "" {
		return nil
	}
	for from := 0; ; {
		i := strings.Index(text[from:], key)
		if i < 0 {
			return list
		}
		start, end := from+i, from+i+len(key)
		if apart(text, start) && apart(text, end) {
			list = append(list, [2]int{start, end})
		}
		from = start + 1
		for from < len(text) && text[from]&0xC0 == 0x80 {
			from++
		}
	}
}

// apart tells whether a word may begin or end at byte i of a text.
func apart(text string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	after, _ := utf8.DecodeRuneInString(text[i:])
	return i == 0 || i == len(text) || !spaced(before) || !spaced(after)
}
