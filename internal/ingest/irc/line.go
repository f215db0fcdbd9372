package irc

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// line is a line of a log without its time.
type line struct {
	nick, text string
	event      bool // nobody wrote it
	notice     bool // a notice, as programs send them
	sure       bool // it has the form of such a line, not of any text after a time
}

var (
	control = text.NewPattern(`\x03(?:\d{1,2}(?:,\d{1,2})?)?|\x04(?:[0-9a-fA-F]{6})?|\x1b\[[0-9;]*[A-Za-z]|[\x00\x02\x0f\x11\x16\x1d\x1e\x1f]`)
	colour  = text.NewPattern(`^\d{1,2}(?:,\d{1,2})?(\[\d\d:\d\d)`) // of a log whose control characters are lost

	ircSaid       = text.NewPattern(`^(?:[#&]\S+: )?<([^<>]{1,100})>(?:\s(.*))?$`)
	action        = text.NewPattern(`^ {0,2}\*{1,2}\s(.*)$`)
	dot           = text.NewPattern(`^• (\S+): (.*)$`)
	notice        = text.NewPattern(`^-([^\s(:/<>-][^\s(:/<>]*?)(?:[(:/]\S*)?-\s(.*)$`)
	private       = text.NewPattern(`^\*([^\s*]+)\*\s(.*)$`)
	marked        = text.NewPattern(`^(?:-!-|-{1,3}|-->|<--|\*{3}|={3}|=!=)(?:\s(.*))?$`)
	weeChatNotice = text.NewPattern(`^Notice\((\S+)\): (.*)$`)

	// ircHappened matches events that some clients write like a user's action.
	ircHappened = text.NewPattern(`^(?:\S+ \([^()\s]*@[^()\s]*\) (?:has )?(?:joined|left|[Qq]uit|parted)\b` +
		`|\S+ has (?:joined|left) [#&+!]\S|\S+ has (?:quit|parted)(?: [\[(#]|$)|\S+ (?:left|joined) [#&]\S+(?: \(.*\))?\.?$` +
		`|\S+ is now known as \S+$|\S+ (?:sets|changes) (?:mode|topic)\b|\S+ (?:sets|removes) (?:a )?(?:ban|exempt) on` +
		`|\S+ (?:gives|removes) (?:channel (?:half-)?operator status|voice)|\S+ was kicked (?:by|from) |\S+ has kicked \S+ from|\S+ has changed the topic` +
		`|(?:Now talking (?:in|on)|Topic (?:is|for|set)|Set by|Users on) |(?:Disconnected|Rejoined channel|Retrieving #|Connecting to|Attempting to rejoin)|You (?:are now|were kicked|have (?:left|been kicked|joined)))`)

	// unmarked matches events of clients that write no mark before them.
	unmarked = text.NewPattern(`^(?:\S+ \(\S*@\S*\) (?:joined|left|quit)\b|\S+ (?:has (?:joined|left|quit|kicked|changed mode|set topic)|is now known as|arrives in|leaves|places a new sign in|kicks|kicked from)\b` +
		`|Nick change: \S+ -> |Topic changed on [#&]|[#&]\S+: mode change |Last message repeated |Connected to IRC|Disconnected from IRC)`)

	playback = text.NewPattern(`^(?:Buffer Playback\.\.\.|Playback Complete\.)`)
)

// ircText returns a line without colours and other formatting.
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

// readLine parses what follows the time.
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

// readWeeChat parses a line whose columns are separated by tabs.
func readWeeChat(who, text string) line {
	l := line{event: true, text: text, sure: true}
	switch who = strings.TrimSpace(who); who {
	case "*":
		return acted(text)
	case "-->", "<--", "=!=", "", "****", "***":
	case "--":
		if m := weeChatNotice.FindStringSubmatch(text); m != nil {
			l = line{nick: nickOf(m[1]), text: m[2], notice: true, sure: true}
		}
	default:
		return said(strings.TrimSuffix(strings.TrimPrefix(who, "<"), ">"), text)
	}
	return l
}

// said returns the line of a message.
func said(nick, text string) line {
	l := line{nick: nickOf(nick), text: strings.TrimSpace(text), sure: true}
	if did, ok := strings.CutPrefix(l.text, "\x01ACTION "); ok {
		l.text = l.nick + " " + did
	}
	l.text = strings.ReplaceAll(l.text, "\x01", "")
	l.event = l.nick == "" || l.nick == "***" && playback.MatchString(l.text) // written by a bouncer
	return l
}

// acted returns the line of an action; the text begins with the nick.
func acted(text string) line {
	text = strings.TrimSpace(text)
	nick, _, _ := strings.Cut(text, " ")
	l := line{nick: nickOf(nick), text: text, sure: true}
	l.event = l.nick == ""
	return l
}

// nickOf returns a nick without prefixed signs of rank and the channel after it.
func nickOf(s string) string {
	if all := strings.TrimSpace(s); strings.Trim(all, "*") == "" {
		return all
	}
	s, _, _ = strings.Cut(strings.TrimSpace(strings.TrimLeft(s, " ~&@%+!*")), ":#")
	if nick, host, ok := strings.Cut(s, "!"); ok && strings.Contains(host, "@") {
		return nick
	}
	return s
}

// ircStamp is the time at the start of a line, with the parts of the date that the line contains.
type ircStamp struct {
	year, month, day     int // 0 = missing
	hour, minute, second int
	zone                 *time.Location // nil = missing
	none                 bool           // the line has no time at all
}

const clock = `(?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d))?`

// stamps match the times at the start of lines; the first match counts. If a time has a month's name, the name must
// be valid.
var stamps = []*text.Pattern{
	text.NewPattern(`^\[?(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?:[T ]|\] \[)(?P<hour>\d\d):(?P<minute>\d\d)` +
		`(?::(?P<second>\d\d)(?:[.,]\d{1,9})?)?(?: ?(?P<zone>Z|[+-]\d\d:?\d\d))?\]?`),
	text.NewPattern(`^\[(?P<day>\d\d)/(?P<month>\d\d)/(?P<year>\d{4}) - ` + clock + `\]`),
	text.NewPattern(`^\[\pL{2,12}\.?,? (?P<name>\pL{3,12})\.? (?P<day>\d{1,2}),? (?P<year>\d{4})\] \[` + clock +
		`(?: [A-Z]{2,5})?\]`),
	text.NewPattern(`^\[\pL{2,12}\.?,? (?P<day>\d{1,2})\.? (?P<name>\pL{3,12})\.?,? (?P<year>\d{4})\] \[` + clock +
		`(?: [A-Z]{2,5})?\]`),
	text.NewPattern(`^(?P<name>\pL{3,5})\.? (?P<day>\d\d) ` + clock + `\b`),
	text.NewPattern(`^\[(?P<day>\d{1,2}) (?P<name>\pL{3,12})\.? ` + clock + `\]`),
	text.NewPattern(`^[\[(]?(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))? ?(?P<half>[AaPp])[Mm][\])]?`),
	text.NewPattern(`^[\[(]?` + clock + `[\])]?`),
	text.NewPattern(`^T (?P<unix>\d{9,10}) `),
}

var (
	// header matches a line that contains only the time: --- Day changed Thu Jan 15 2026, **** BEGIN LOGGING AT Thu Jan
	// 15 17:25:15 2026, Session Start: and so on.
	header = text.NewPattern(`^(?:(?:\[\d\d:\d\d(?::\d\d)?\] )?---\s.*|\*\*\*\*\s.*|Session (?:Start|Time|Close)\b.*?[:\s]|IRC [Ll]og (?:started|ended)\s.*)(\pL{3,5})\.?\s+(\d{1,2})\s+(?:(\d\d):(\d\d)(?::(\d\d))?\s+)?(\d{4})$`)
	ident  = text.NewPattern(`^Session Ident: \S|^\*{4}\s+(?:Beginning|End) of log\s+\*{4}$`)
)

// numbers parses digits; missing ones are 0.
func numbers(digits ...string) []int {
	list := make([]int, len(digits))
	for i, d := range digits {
		list[i], _ = strconv.Atoi(d)
	}
	return list
}

// readStamp parses the time at the start of a line, and returns the rest.
func readStamp(s string) (at ircStamp, rest string, ok bool) {
	for _, form := range stamps {
		m := form.FindStringSubmatch(s)
		if m == nil {
			continue
		}
		group := func(name string) string {
			if i := form.SubexpIndex(name); i > 0 {
				return m[i]
			}
			return ""
		}
		n := numbers(group("year"), group("month"), group("day"), group("hour"), group("minute"), group("second"),
			group("unix"))
		at = ircStamp{year: n[0], month: n[1], day: n[2], hour: n[3], minute: n[4], second: n[5]}
		if name := group("name"); name != "" {
			if at.month = export.Month(name); at.month == 0 {
				continue
			}
		}
		if half := group("half"); half != "" {
			if at.hour %= 12; strings.EqualFold(half, "p") {
				at.hour += 12
			}
		}
		if t, err := time.Parse("Z0700", strings.ReplaceAll(group("zone"), ":", "")); err == nil {
			_, offset := t.Zone()
			at.zone = time.FixedZone("", offset)
		}
		if n[6] > 0 {
			t := time.Unix(int64(n[6]), 0).UTC()
			at = ircStamp{year: t.Year(), month: int(t.Month()), day: t.Day(), hour: t.Hour(), minute: t.Minute(),
				second: t.Second(), zone: time.UTC}
		}
		return at, s[len(m[0]):], at.hour < 24 && at.minute < 60 && at.second < 61
	}
	return ircStamp{none: true}, s, false
}

// calendar carries the date from line to line.
type calendar struct {
	year, month, day int       // date of the previous line; 0 = unknown
	unclear          string    // the date in the file's name, if its order is unclear
	last             time.Time // time of the previous line, by its clock
}

// compare orders days, unknown ones first.
func (c calendar) compare(o calendar) int {
	return cmp.Or(cmp.Compare(c.year, o.year), cmp.Compare(c.month, o.month), cmp.Compare(c.day, o.day))
}

// header handles a line that contains only the time, and reports whether it is one.
func (c *calendar) header(s string) bool {
	if s == "" || !strings.ContainsRune("-*SI[", rune(s[0])) {
		return false
	}
	m := header.FindStringSubmatch(s)
	if m == nil {
		return ident.MatchString(s)
	}
	n := numbers(m[2:7]...)
	if month := export.Month(m[1]); month > 0 && realDate(n[4], month, n[0]) {
		c.year, c.month, c.day = n[4], month, n[0]
		c.last = time.Date(n[4], time.Month(month), n[0], n[1], n[2], n[3], 0, time.UTC)
	} else { // no date is better than the previous day
		*c = calendar{}
	}
	return true
}

func realDate(year, month, day int) bool {
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	return year >= 1988 && year < 2200 && t.Day() == day && int(t.Month()) == month // there was no IRC before
}

// night is the minimum that a clock must go back to mean the next day. Less is the end of summer time, or a late
// line.
const night = 6 * time.Hour

// at returns when a line was written: its own clock, as if in UTC.
func (c *calendar) at(s ircStamp) (time.Time, error) {
	if s.none {
		switch {
		case !c.last.IsZero():
			return c.last, nil
		case c.year > 0:
			return time.Date(c.year, time.Month(c.month), c.day, 0, 0, 0, 0, time.UTC), nil
		}
		return time.Time{}, fmt.Errorf("neither this line nor one above it has a time: %w", reverie.ErrInvalid)
	}
	year, month, day := s.year, s.month, s.day
	switch {
	case year == 0 && c.year == 0:
		return time.Time{}, fmt.Errorf("neither a line above nor the name of the file has a date; name the file after "+
			"its first day, such as #chat.2026-01-15.log: %w", reverie.ErrInvalid)
	case year == 0 && month == 0:
		year, month, day = c.year, c.month, c.day
	case year == 0:
		year = c.year
		if month < c.month-6 {
			year++
		}
	}
	if !realDate(year, month, day) {
		return time.Time{}, fmt.Errorf("%04d-%02d-%02d is not a date: %w", year, month, day, reverie.ErrInvalid)
	}
	at := time.Date(year, time.Month(month), day, s.hour, s.minute, s.second, 0, time.UTC)
	if s.month == 0 && c.last.Sub(at) > night {
		at = at.AddDate(0, 0, 1)
	}
	c.year, c.month, c.day, c.last = at.Year(), int(at.Month()), at.Day(), at
	return at, nil
}

// in returns the time in the zone in which it was written.
func (s ircStamp) in(at time.Time, zone *time.Location) time.Time {
	if s.zone != nil {
		zone = s.zone
	}
	if zone == nil {
		zone = time.UTC
	}
	return time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), 0, zone)
}
