package irc

import (
	"strings"

	"reverie/internal/ingest/export"
	"reverie/internal/text"
)

// line is a line behind its time.
type line struct {
	nick, text string
	event      bool   // nobody's words
	notice     bool   // as programs send them
	sure       bool   // it has the form of such a line, not only of any text behind a time
	channel    string // where the line itself says it
}

var (
	control = text.NewPattern(`\x03(?:\d{1,2}(?:,\d{1,2})?)?|\x04(?:[0-9a-fA-F]{6})?|\x1b\[[0-9;]*[A-Za-z]|[\x00\x02\x0f\x11\x16\x1d\x1e\x1f]`)
	colour  = text.NewPattern(`^\d{1,2}(?:,\d{1,2})?(\[\d\d:\d\d)`) // of a log whose control characters are lost

	ircSaid = text.NewPattern(`^(?:[#&]\S+: )?<([^<>]{1,100})>(?:\s(.*))?$`)
	action  = text.NewPattern(`^ {0,2}\*{1,2}\s(.*)$`)
	colon   = text.NewPattern(`^([^\s:<>()\[\]#&*"'.,;!?/]{1,30}): (.*)$`)
	dot     = text.NewPattern(`^• (\S+): (.*)$`)
	notice  = text.NewPattern(`^-([^\s(:/<>-][^\s(:/<>]*?)(?:[(:/]\S*)?-\s(.*)$`)
	private = text.NewPattern(`^\*([^\s*]+)\*\s(.*)$`)
	marked  = text.NewPattern(`^(?:-!-|-{1,3}|-->|<--|\*{3}|={3}|=!=)(?:\s(.*))?$`)
	told    = text.NewPattern(`^Notice\((\S+)\): (.*)$`)

	// ircHappened are the events that some clients write like somebody's action.
	ircHappened = text.NewPattern(`^(?:\S+ \([^()\s]*@[^()\s]*\) (?:has )?(?:joined|left|[Qq]uit|parted)\b` +
		`|\S+ has (?:joined|left) [#&+!]\S|\S+ has (?:quit|parted)(?: [\[(#]|$)|\S+ (?:left|joined) [#&]\S+(?: \(.*\))?\.?$` +
		`|\S+ is now known as \S+$|\S+ (?:sets|changes) (?:mode|topic)\b|\S+ (?:sets|removes) (?:a )?(?:ban|exempt) on` +
		`|\S+ (?:gives|removes) (?:channel (?:half-)?operator status|voice)|\S+ was kicked (?:by|from) |\S+ has kicked \S+ from|\S+ has changed the topic` +
		`|(?:Now talking (?:in|on)|Topic (?:is|for|set)|Set by|Users on) |(?:Disconnected|Rejoined channel|Retrieving #|Connecting to|Attempting to rejoin)|You (?:are now|were kicked|have (?:left|been kicked|joined)))`)

	// unmarked are the events of clients that put no mark in front of them.
	unmarked = text.NewPattern(`^(?:\S+ \(\S*@\S*\) (?:joined|left|quit)\b|\S+ (?:has (?:joined|left|quit|kicked|changed mode|set topic)|is now known as|arrives in|leaves|places a new sign in|kicks|kicked from)\b` +
		`|Nick change: \S+ -> |Topic changed on [#&]|[#&]\S+: mode change |Last message repeated |Connected to IRC|Disconnected from IRC)`)

	playback = text.NewPattern(`^(?:Buffer Playback\.\.\.|Playback Complete\.)`)
)

// ircText is a line without colours and the like.
func ircText(raw []byte) string {
	s := strings.TrimSuffix(export.UTF8Line(raw), "\r")
	if strings.ContainsFunc(s, func(c rune) bool { return c < ' ' && c != '\t' && c != 1 }) {
		s = control.ReplaceAllString(s, "")
	}
	if m := colour.FindStringSubmatchIndex(s); m != nil {
		return s[m[2]:]
	}
	return s
}

// readLine reads what stands behind the time.
func readLine(s string) line {
	if tabbed, ok := strings.CutPrefix(s, "\t"); ok {
		if who, said, ok := strings.Cut(tabbed, "\t"); ok {
			return readWeeChat(who, said)
		}
		return line{event: true, text: strings.TrimSpace(tabbed)}
	}
	if m := action.FindStringSubmatch(strings.TrimPrefix(s, " ")); m != nil {
		if ircHappened.MatchString(m[1]) {
			return line{event: true, text: m[1], sure: true}
		}
		return acted(m[1])
	}
	s = strings.TrimSpace(s)
	if m := ircSaid.FindStringSubmatch(s); m != nil {
		return said(m[1], m[2])
	}
	for _, form := range []*text.Pattern{dot, private} {
		if m := form.FindStringSubmatch(s); m != nil {
			l := said(m[1], m[2])
			if form == dot {
				l.text = l.nick + " " + l.text
			}
			return l
		}
	}
	if m := marked.FindStringSubmatch(s); m != nil {
		return line{event: true, text: strings.TrimSpace(m[1]), sure: true}
	}
	if m := notice.FindStringSubmatch(s); m != nil {
		return line{nick: nickOf(m[1]), text: m[2], notice: true, sure: true}
	}
	if did, ok := strings.CutPrefix(s, "Action: "); ok {
		return acted(did)
	}
	return line{event: true, text: s, sure: unmarked.MatchString(s)}
}

// readColon reads what stands behind the time where a colon sets nick and text apart, as
// LimeChat and some bots write.
func readColon(s string) line {
	s = strings.TrimSpace(s)
	if m := colon.FindStringSubmatch(s); m != nil {
		return said(m[1], m[2])
	}
	return readLine(s)
}

// readWeeChat reads a line whose columns are set apart by tabs.
func readWeeChat(who, text string) line {
	l := line{event: true, text: text, sure: true}
	switch who = strings.TrimSpace(who); who {
	case "*":
		return acted(text)
	case "-->", "<--", "=!=", "", "****", "***":
	case "--":
		if m := told.FindStringSubmatch(text); m != nil {
			l = line{nick: nickOf(m[1]), text: m[2], notice: true, sure: true}
		}
	default:
		return said(strings.TrimSuffix(strings.TrimPrefix(who, "<"), ">"), text)
	}
	return l
}

// said is what somebody said.
func said(nick, text string) line {
	l := line{nick: nickOf(nick), text: strings.TrimSpace(text), sure: true}
	if did, ok := strings.CutPrefix(l.text, "\x01ACTION "); ok {
		l.text = l.nick + " " + did
	}
	l.text = strings.ReplaceAll(l.text, "\x01", "")
	l.event = l.nick == "" || l.nick == "***" && playback.MatchString(l.text) // a bouncer's own
	return l
}

// acted is what somebody does, who is named in the text.
func acted(text string) line {
	text = strings.TrimSpace(text)
	nick, _, _ := strings.Cut(text, " ")
	l := line{nick: nickOf(nick), text: text, sure: true}
	l.event = l.nick == ""
	return l
}

// nickOf is a nick without the signs of rank in front of it and the channel behind it.
func nickOf(s string) string {
	if all := strings.TrimSpace(s); strings.Trim(all, "*") == "" {
		return all
	}
	s, _, _ = strings.Cut(strings.TrimSpace(strings.TrimLeft(s, " ~&@%+!*")), ":#")
	return s
}
