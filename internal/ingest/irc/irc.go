// Package irc reads the logs of IRC clients and bouncers: WeeChat, irssi, HexChat and XChat, ZNC, mIRC, Textual,
// and compatible ones. The names of files and folders contain network and channel, and may contain the date. A
// person's only id is the nick, and messages have no ids.
package irc

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Format describes IRC logs.
var Format = export.Format{
	Name:   "irc",
	Title:  "IRC logs of WeeChat, irssi, HexChat, ZNC, mIRC or Textual",
	Head:   sureOf,
	Folder: sureOfFolder,
	Tell:   tell,
}

func sureOfFolder(files fs.FS) int {
	if len(ircFiles(files)) > 0 {
		return 60
	}
	return 0
}

// sureOf returns how certainly the first lines are lines of a log.
func sureOf(head []byte) int {
	seen := firstLines(head)
	switch {
	case seen.sure > 0 && (seen.sure*10 >= seen.all*6 || seen.said > 0 && seen.timed*10 >= seen.all*9 &&
		seen.sure*10 >= seen.all*3):
		return 80
	}
	return 0
}

// ircSeen counts the kinds of a log's first lines.
type ircSeen struct {
	all, timed, sure, said int
}

func firstLines(head []byte) ircSeen {
	var n ircSeen
	var c calendar
	for raw := range bytes.Lines(head) {
		s := ircText(bytes.TrimRight(raw, "\r\n"))
		if strings.TrimSpace(s) == "" || strings.HasPrefix(s, "=== ") { // some clients write joins without a time
			continue
		}
		if n.all == 100 {
			break
		}
		n.all++
		if c.header(s) {
			n.sure++
			n.timed++
			continue
		}
		_, rest, timed := readStamp(s)
		l := readLine(rest)
		if !timed && (c.year == 0 || !l.sure) {
			continue
		}
		n.timed++
		if l.sure {
			n.sure++
			if !l.event {
				n.said++
			}
		}
	}
	return n
}

func ircFiles(files fs.FS) []string {
	return export.KnownFiles(files, []string{".log", ".txt", ".weechatlog", ".irclog"},
		func(head []byte) bool { return sureOf(head) > 0 })
}

var (
	part    = text.NewPattern(`^[-_. ]?\d{1,3}(?:$|[^0-9])`) // number of a part of a day's log, after the date
	further = text.NewPattern(`\.[A-Za-z][A-Za-z0-9]*$`)     // further extension: .raw
	period  = text.NewPattern(`(?:^|[._ -])(?:\d{4}-?\d\d-?\d\d|\d{4}-\d\d|\d\d-\d\d)$`)
	ending  = text.NewPattern(`(?i)\.(?:log|txt|weechatlog|irclog|gz)$`)
	textual = text.NewPattern(` \([0-9A-Fa-f]{5}\)$`)
	folder  = text.NewPattern(`(?i)^(?:\.|\.\.|/|\d{1,4}|channels|queries|console|\.?logs?|irclogs|xchatlogs|moddata|users|networks|scrollback|\.?weechat|\.?irssi|\.?hexchat|\.?znc|\.?mirc)$`)
)

// names returns the network and channel in the name of a file, if any, and the date. asked is the order of the date.
func names(name, asked string) (chat string, day calendar) {
	name = filepath.ToSlash(name)
	for ending.MatchString(name) {
		name = ending.ReplaceAllString(name, "")
	}
	dir, base, day := dayIn(name, asked).without(name)
	base = strings.Trim(period.ReplaceAllString(base, ""), "._- ")
	base = ending.ReplaceAllString(base, "")
	if inside, ok := strings.CutPrefix(base, "irc."); ok { // WeeChat: irc.network.#channel
		network, channel, _ := strings.Cut(inside, ".")
		return strings.TrimSuffix(network+"/"+channel, "/"), day
	}
	if cut := strings.Index(base, "_#"); cut > 0 { // ZNC: network_#channel
		return base[:cut] + "/" + base[cut+1:], day
	}
	if channel, network, ok := strings.Cut(base, "."); ok && strings.HasPrefix(base, "#") &&
		!strings.Contains(network, ".") { // mIRC: #channel.Network
		return network + "/" + channel, day
	}
	var parts []string
	for _, part := range append(strings.Split(path.Clean(dir), "/"), base) {
		if part = textual.ReplaceAllString(part, ""); part != "" && !folder.MatchString(part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts[max(0, len(parts)-2):], "/"), day
}

// file is one log of a folder.
type file struct {
	name string
	chat export.Chat
	from calendar
}

func ircChat(chat, otherwise string) export.Chat {
	if chat == "" {
		otherwise, _ = names(path.Base(filepath.ToSlash(otherwise)), "")
		chat = cmp.Or(otherwise, "irc")
	}
	return export.Chat{ID: strings.ToLower(chat), Name: chat}
}

// inOrder returns the logs of a folder by chat and date.
func inOrder(src export.Source, asked string) []file {
	var list []file
	for _, name := range ircFiles(src.Files) {
		chat, day := names(name, asked)
		list = append(list, file{name: name, chat: ircChat(chat, src.Name), from: day})
	}
	slices.SortStableFunc(list, func(a, b file) int {
		return cmp.Or(strings.Compare(a.chat.ID, b.chat.ID), a.from.compare(b.from), strings.Compare(a.name, b.name))
	})
	return list
}

func tell(t *export.Teller, src export.Source) error {
	if src.Files == nil {
		chat, _ := names(path.Base(filepath.ToSlash(src.Name)), t.DateOrder)
		within, day := names(src.Name, t.DateOrder)
		if src.Name == "-" {
			chat = ""
		} else if chat == "" { // the name is a date; the folder names the channel
			chat = within
		}
		r := reader{Teller: t, chat: ircChat(chat, ""), ids: &export.Ordinals{}, calendar: day}
		return r.file(src.Reader)
	}
	var before reader // logs of the same chat are consecutive
	for _, f := range inOrder(src, t.DateOrder) {
		r := reader{Teller: t, chat: f.chat, ids: &export.Ordinals{}, calendar: f.from}
		if before.chat == f.chat {
			r.ids = before.ids
		}
		before = r
		if err := t.File(src.Files, f.name, r.file); err != nil {
			return err
		}
	}
	return nil
}

// reader reads one log.
type reader struct {
	*export.Teller
	chat     export.Chat
	ids      *export.Ordinals
	calendar calendar
	open     *export.Record // the current message, which the next line may continue
	tabbed   bool           // the previous line had columns; its text may continue
}

// file passes on the messages of a log.
func (r *reader) file(in io.Reader) error {
	if !r.Wants(r.chat) {
		return nil
	}
	if err := r.EachOrBad(export.Lines(in), r.line); err != nil {
		return err
	}
	return r.close()
}

// line handles one line.
func (r *reader) line(l export.Part, bad *export.Bad) error {
	if bad != nil {
		return cmp.Or[error](r.close(), bad)
	}
	s := ircText(l.Value)
	if r.calendar.header(s) {
		return r.close()
	}
	stamp, rest, timed := readStamp(s)
	said := readLine(rest)
	switch {
	case !timed && r.tabbed && r.open != nil && len(r.open.Message.Text)+len(s) < reverie.MaxMessageTextLength:
		r.open.Message.Text += "\n" + s
		return nil
	case strings.TrimSpace(s) == "":
		return nil
	}
	if err := r.close(); err != nil {
		return err
	}
	if !timed && (!said.sure || stamp != ircStamp{none: true}) {
		return &export.Bad{Reason: "no time",
			Err: fmt.Errorf("it begins neither with a time nor with a name: %w", reverie.ErrInvalid)}
	}
	at, err := r.calendar.at(stamp)
	if shown := r.calendar.unclear; err != nil && shown != "" && r.calendar.year == 0 {
		return fmt.Errorf("the date %s in the name of the file can be read in more than one way: choose one with "+
			"--date-order dmy, mdy or ymd: %w", shown, reverie.ErrInvalid)
	}
	if err != nil {
		return &export.Bad{Reason: "no date", Err: err}
	}
	r.tabbed = timed && strings.HasPrefix(rest, "\t") && !said.event
	id := strings.ToLower(said.nick)
	r.open = &export.Record{Chat: r.chat, Place: l.Place, Bot: said.notice, Event: said.event}
	r.open.Message = reverie.Message{AuthorID: id, Author: said.nick, Text: said.text,
		SentAt: stamp.in(at, r.Zone)}
	wall := at.Format(time.DateTime)
	if stamp.zone != nil {
		wall = r.open.Message.SentAt.UTC().Format(time.RFC3339)
	}
	if said.event {
		id = ""
		r.open.Message.AuthorID, r.open.Message.Author = r.open.Chat.ID, r.open.Chat.Name
	}
	r.open.Message.ID = r.ids.ID(r.open.Chat.ID, wall, id)
	return nil
}

// close passes on the current message.
func (r *reader) close() error {
	open := r.open
	if r.open = nil; open == nil {
		return nil
	}
	open.Message.Text = strings.TrimSpace(open.Message.Text)
	return r.Tell(*open)
}
