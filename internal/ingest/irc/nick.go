package irc

import (
	"strings"

	"reverie/internal/ingest/export"
	"reverie/internal/text"
)

// nicks knows who is who among those who have changed their nick while they were there:
// the zero value nobody.
type nicks map[string]string // the nick that somebody had first, by the one of now

var (
	renamed = text.NewPattern(`^(?:Nick change: )?(\S+) (?:is now known as|changed nick to|->) (\S+)$`)
	moved   = text.NewPattern(`^(?:(?:Joins|Parts|Quits): (\S+)|(\S+) (?:[\[(]\S*@\S*[\])] )?(?:has )?(?:joined|left|parted|[Qq]uit|leaves|arrives)\b)`)
)

// id is by whom something is said.
func (n nicks) id(nick string) string {
	nick = strings.ToLower(nick)
	if first := n[nick]; first != "" {
		return first
	}
	return nick
}

// see takes in what has happened: who has another nick from now on, and who came or went,
// after whom a nick may be anybody's.
func (n nicks) see(happened string) {
	if m := renamed.FindStringSubmatch(happened); m != nil {
		first, now := n.id(m[1]), strings.ToLower(m[2])
		delete(n, strings.ToLower(m[1]))
		if delete(n, now); first != now && len(n) < export.MaxNames {
			n[now] = first
		}
	} else if m := moved.FindStringSubmatch(happened); m != nil {
		delete(n, strings.ToLower(m[1]+m[2]))
	}
}
