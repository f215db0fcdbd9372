package recall

import (
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

const (
	fairShare  = 0.08 // of what the words of the query weigh that a quote has at least; by the evaluation
	quotesRead = 4    // messages that are read for each quote: some repeat each other, or the query
)

// worthQuoting are the messages that say something: not the query itself, nor
// anything to a model, and each text once.
func worthQuoting(query string, found []reverie.ContextQuote) (list []reverie.ContextQuote) {
	said := map[string]bool{text.ContentHash(query): true}
	for _, q := range found {
		if hash := text.ContentHash(q.Text); !said[hash] && !safety.Instructs(q.Text) {
			said[hash], list = true, append(list, q)
		}
	}
	return list
}

// addQuotes gives the earlier messages that bear on the query, masked as a model
// may be shown them. None takes more than half of their room: a long one is cut.
func (d *draft) addQuotes(b *block, room *int) {
	longest := *room / 2
	for _, q := range d.quotes {
		if len(d.reply.Quotes) == d.messages {
			break
		}
		line := func(text string) string {
			return dataLine(quoteLine{q.Author, q.SentAt.In(d.zone).Format(localMinute), text})
		}
		given, ok := excerpt(d.privacy.Shown(q.Text), func(text string) bool { return b.cost(line(text)) <= min(longest, *room) })
		if !ok || !b.add(line(given), room) {
			d.reply.Counts.Dropped++
			continue
		}
		q.Text, q.SentAt = given, q.SentAt.UTC()
		d.reply.Quotes = append(d.reply.Quotes, q)
	}
	d.reply.Counts.Quotes = len(d.reply.Quotes)
}
