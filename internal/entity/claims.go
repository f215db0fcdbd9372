package entity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// claimKey tells claims that say the same from others: aspect, key, and what the
// text says, however it is written.
func claimKey(c reverie.ObservedClaim) string {
	said := text.ContentHash(c.Value)
	if c.Aspect == reverie.AspectRelation {
		said = "name " + text.NameKey(c.Value)
		if c.Account != "" {
			said = "account " + c.Account
		}
	}
	return string(c.Aspect) + "\x00" + text.NameKey(c.Name) + "\x00" + said
}

// unite makes one claim of those that say the same: with all their evidence, each
// message once, the highest confidence, and the words of the one it belongs to.
// Their order does not matter.
func unite(claims []reverie.ObservedClaim) []reverie.ObservedClaim {
	sorted := slices.Clone(claims)
	keys := make(map[string]int, len(claims))
	slices.SortFunc(sorted, compareClaims)
	var list []reverie.ObservedClaim
	for _, c := range sorted {
		key := claimKey(c)
		at, again := keys[key]
		if !again {
			keys[key] = len(list)
			c.Evidence = uniteEvidence(c.Evidence)
			list = append(list, c)
			continue
		}
		one := &list[at]
		one.Evidence = uniteEvidence(one.Evidence, c.Evidence)
		one.Replaces, one.Reason = cmp.Or(one.Replaces, c.Replaces), cmp.Or(one.Reason, c.Reason)
	}
	return list
}

// compareClaims orders claims: of those that say the same, the surest comes
// first, then the earliest.
func compareClaims(a, b reverie.ObservedClaim) int {
	return cmp.Or(strings.Compare(claimKey(a), claimKey(b)), cmp.Compare(b.Confidence, a.Confidence),
		newest(a.Evidence).Compare(newest(b.Evidence)), strings.Compare(fmt.Sprint(a), fmt.Sprint(b)))
}

// sayIt tells whether the quotes of a claim have a word of it: of a script that
// writes no spaces, two characters side by side.
func sayIt(c reverie.ObservedClaim) bool {
	var words []string
	for _, run := range strings.FieldsFunc(textForm(c.Value), func(r rune) bool { return !isLetter(r) }) {
		runes := []rune(run)
		switch {
		case !text.Joins(runes[0]):
			for i := range len(runes) - 1 {
				words = append(words, string(runes[i:i+2]))
			}
		case len(runes) > 2: // shorter ones are in every sentence
			words = append(words, run)
		}
	}
	return slices.ContainsFunc(c.Evidence, func(e reverie.Evidence) bool {
		text := textForm(e.Quote)
		return slices.ContainsFunc(words, func(word string) bool { return len(places(text, word)) > 0 })
	})
}

// uniteEvidence puts evidence together, oldest first: each message once, with its
// longest quote.
func uniteEvidence(lists ...[]reverie.Evidence) []reverie.Evidence {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b reverie.Evidence) int {
		return cmp.Or(a.SentAt.Compare(b.SentAt), strings.Compare(a.MessageID, b.MessageID),
			len(b.Quote)-len(a.Quote), strings.Compare(a.Quote, b.Quote),
			strings.Compare(a.AuthorID+"\x00"+a.Author, b.AuthorID+"\x00"+b.Author))
	})
	return slices.CompactFunc(all, func(a, b reverie.Evidence) bool { return a.MessageID == b.MessageID })
}

// newest is when the latest evidence was sent.
func newest(list []reverie.Evidence) (at time.Time) {
	for _, e := range list {
		at = later(at, e.SentAt)
	}
	return at
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// authors are who said the evidence, sorted, each once.
func authors(list []reverie.Evidence) []string {
	var ids []string
	for _, e := range list {
		ids = append(ids, e.AuthorID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// dates are the local dates of the evidence, sorted, each once.
func dates(list []reverie.Evidence) []string {
	var days []string
	for _, e := range list {
		days = append(days, e.LocalDate)
	}
	slices.Sort(days)
	return slices.Compact(days)
}
