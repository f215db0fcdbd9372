package recall

import (
	"slices"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// leastExcerpt is how many characters of a text must be left for it to be worth
// giving.
const leastExcerpt = 20

// draft is a context before it is known what there is room for.
type draft struct {
	reply    *reverie.ContextReply
	memories []reverie.RecallCandidate // best first; those without a fate are to be offered
	entities []reverie.ContextEntity
	turns    []reverie.Message // oldest first
	summary  *reverie.SessionSummary
	words    words
	zone     *time.Location
}

// compose fills the reply and its text, of as many tokens as it may have. Memories
// come first, by rank, but for what short-term memory needs: that keeps up to half
// of the tokens. Then the entities; then the newest messages, and the summary of the
// older ones.
func (d *draft) compose() {
	d.turns = worded(d.turns, d.reply.MaxTokens)
	memories, entities := &block{tag: tagMemories, heading: d.words.memories},
		&block{tag: tagEntities, heading: d.words.entities}
	summary, session := &block{tag: tagSummary, heading: d.words.summary},
		&block{tag: tagSession, heading: d.words.session}
	turns := d.turnsCost(*session)
	kept := min(turns+d.summaryCost(*summary), d.reply.MaxTokens/2)
	room := d.reply.MaxTokens - kept
	d.addMemories(memories, &room)
	d.addEntities(entities, &room)
	room += kept
	d.addTurns(session, turns, &room)
	d.addSummary(summary, &room)
	d.reply.Text = joinBlocks(memories, entities, summary, session)
	d.reply.Tokens = text.EstimateTokens(d.reply.Text)
}

// worded are the messages that say something. Of one that is far too long for so
// many tokens only the beginning is looked at.
func worded(turns []reverie.Message, tokens int) []reverie.Message {
	const perToken = 16 // characters; no text but white space has more
	var list []reverie.Message
	for _, m := range turns {
		if strings.TrimSpace(m.Text) == "" {
			continue
		}
		if len(m.Text) > utf8.UTFMax*perToken*tokens {
			m.Text = text.Excerpt(m.Text, perToken*tokens)
		}
		list = append(list, m)
	}
	return list
}

// turnsCost is how many tokens all turns would take.
func (d *draft) turnsCost(b block) int {
	n := 0
	for _, m := range d.turns {
		line := d.turnLine(m, m.Text)
		n += b.cost(line)
		b.lines = append(b.lines, line)
	}
	return n
}

func (d *draft) summaryCost(b block) int {
	if d.summary == nil {
		return 0
	}
	return b.cost(d.summaryLine(d.summary.Summary))
}

func (d *draft) addMemories(b *block, room *int) {
	for i := range d.memories {
		m := &d.memories[i]
		if m.Fate != "" {
			continue
		}
		line := dataLine(memoryLine{m.Kind, m.LastSupportedAt.In(d.zone).Format(time.DateOnly), m.Statement})
		if !b.add(line, room) {
			m.Fate = FateBeyondTokens
			d.reply.Counts.Dropped++
			continue // a shorter one may still fit
		}
		m.Fate = FateOffered
		d.reply.Memories = append(d.reply.Memories, m.ContextMemory)
	}
	d.reply.Counts.LongTerm = len(d.reply.Memories)
}

// addEntities gives of an entity what there is room for, strongest first.
func (d *draft) addEntities(b *block, room *int) {
	for _, e := range d.entities {
		for len(e.Lines) > 0 && !b.add(dataLine(entityLine{e.Subject, e.Kind, e.Lines}), room) {
			e.Lines = e.Lines[:len(e.Lines)-1]
		}
		if len(e.Lines) == 0 {
			d.reply.Counts.Dropped++
			continue
		}
		d.reply.Entities = append(d.reply.Entities, e)
	}
	d.reply.Counts.Entities = len(d.reply.Entities)
}

// addTurns gives the newest messages without a gap. Where not all of them fit, by
// what they cost, none takes more than half of the room that is left: a long one is
// cut to that, so that it does not push out all that was said before it.
func (d *draft) addTurns(b *block, cost int, room *int) {
	whole := cost <= *room
	var newest []reverie.ContextMessage // newest first
	for _, m := range slices.Backward(d.turns) {
		share := *room
		if !whole {
			share /= 2
		}
		text, ok := excerpt(m.Text, func(text string) bool { return b.cost(d.turnLine(m, text)) <= share })
		if !ok || !b.add(d.turnLine(m, text), room) {
			break
		}
		newest = append(newest, reverie.ContextMessage{MessageID: m.ID, Author: m.Author, Role: m.Role, Text: text,
			SentAt: m.SentAt.UTC()})
	}
	d.reply.Counts.ShortTerm = len(newest)
	d.reply.Counts.Dropped += len(d.turns) - len(newest)
	if len(newest) == 0 {
		return
	}
	slices.Reverse(newest)
	slices.Reverse(b.lines)
	d.reply.ShortTerm = &reverie.ContextShortTerm{Turns: newest}
}

// addSummary gives the rolling summary, or its beginning.
func (d *draft) addSummary(b *block, room *int) {
	if d.summary == nil {
		return
	}
	text, ok := excerpt(d.summary.Summary, func(text string) bool { return b.cost(d.summaryLine(text)) <= *room })
	if !ok || !b.add(d.summaryLine(text), room) {
		d.reply.Counts.Dropped += d.summary.Messages
		return
	}
	given := *d.summary
	given.Summary = text
	if d.reply.ShortTerm == nil {
		d.reply.ShortTerm = &reverie.ContextShortTerm{Turns: []reverie.ContextMessage{}}
	}
	d.reply.ShortTerm.Summary = &given
	d.reply.Counts.Summarized = given.Messages
}

func (d *draft) turnLine(m reverie.Message, text string) string {
	return dataLine(turnLine{m.Role, m.Author, m.SentAt.In(d.zone).Format(localMinute), text})
}

func (d *draft) summaryLine(text string) string {
	return dataLine(summaryLine{d.summary.Messages, d.summary.CoversUntil.In(d.zone).Format(localMinute), text})
}

// excerpt returns text as it is where it fits, else the longest beginning of it that
// does; false where that is too little to be worth giving.
func excerpt(s string, fits func(string) bool) (string, bool) {
	if fits(s) {
		return s, true
	}
	length := utf8.RuneCountInString(s)
	n := sort.Search(length, func(n int) bool { return !fits(text.Excerpt(s, n+1)) })
	if n < leastExcerpt {
		return "", false
	}
	return text.Excerpt(s, n), true
}
