package recall

import (
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

const (
	fairShare  = 0.08 // minimum share of the weight of the query's words in a quote; from the evaluation
	quotesRead = 4    // messages read for each quote, since some repeat each other or the query
)

// worthQuoting returns the messages with content, without duplicates, the query itself, and instructions to a
// model.
func worthQuoting(query string, found []reverie.ContextQuote) (list []reverie.ContextQuote) {
	said := map[string]bool{text.ContentHash(query): true}
	for _, q := range found {
		if hash := text.ContentHash(q.Text); !said[hash] && !safety.Instructs(q.Text) {
			said[hash], list = true, append(list, q)
		}
	}
	return list
}

// addQuotes adds the earlier messages that are relevant to the query, masked for models. A long one is cut to half
// of the quotes' budget.
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
