package irc

import (
	"strings"

	"reverie/internal/text"
)

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
