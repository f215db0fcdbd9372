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

// ircRaw is a line as a server sends it: :jo!u@host PRIVMSG #lathe :hello, with tags in
// front where the client asked for them.
var ircRaw = text.NewPattern(`^(?:@(\S+) +)?:([^\s!@]+)(?:!\S+|@\S+)? +([A-Z]{3,7}|\d{3})(?: +(.*))?$`)

// rawTime is the tag that says when the server had the line.
var rawTime = text.NewPattern(`(?:^|;)time=([^;]+)`)

// readRaw reads such a line, and the time in its tags.
func readRaw(s string) (l line, at ircStamp, timed, ok bool) {
	m := ircRaw.FindStringSubmatch(s)
	if m == nil {
		return line{}, ircStamp{none: true}, false, false
	}
	at = ircStamp{none: true}
	if tag := rawTime.FindStringSubmatch(m[1]); tag != nil {
		at, _, timed = readStamp(tag[1])
	}
	nick, target, text := m[2], "", m[4]
	if !strings.HasPrefix(text, ":") {
		target, text, _ = strings.Cut(text, " ")
	}
	text = strings.TrimPrefix(text, ":")
	switch m[3] {
	case "PRIVMSG", "NOTICE":
		l = said(nick, text)
		l.notice = m[3] == "NOTICE"
		if strings.HasPrefix(text, "\x01") && !strings.HasPrefix(text, "\x01ACTION ") { // one client asks another
			l = line{event: true, text: nick + " asks " + strings.Trim(text, "\x01")}
		}
	case "NICK":
		l = line{event: true, text: nick + " is now known as " + target + text}
	case "JOIN", "PART", "QUIT":
		what := map[string]string{"JOIN": " has joined ", "PART": " has left ", "QUIT": " has quit "}[m[3]]
		l = line{event: true, text: strings.TrimSpace(nick + what + strings.TrimSpace(target+" "+text))}
		if target == "" && m[3] == "JOIN" {
			target = text
		}
	default:
		l = line{event: true, text: strings.TrimSpace(nick + " " + m[3] + " " + strings.TrimSpace(target+" "+text))}
	}
	if target != "" && strings.ContainsRune("#&+!", rune(target[0])) {
		l.channel = target
	}
	l.sure = true
	return l, at, timed, true
}

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
