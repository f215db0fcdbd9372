// Package whatsapp reads what the app's "Export chat" makes: a text, by itself or in an
// archive with pictures. It says neither ids nor a zone, people are called as the
// exporting phone knows them, and dates are written as its language does. A chat is known
// by its title, which the name of the file says.
package whatsapp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Format is what the package reads.
var Format = export.Format{
	Name:  "whatsapp",
	Title: "WhatsApp chat export (txt or zip)",
	Knows: knows,
	Read:  read,
}

// waAhead is how much of a text is looked at for how it writes its dates, in bytes.
const waAhead = 4 << 20

// waLongestName is how long a name may be, in letters. Contacts of a phone have far less.
const waLongestName = 100

// waMarks are signs of direction and the like, which are not to be seen.
const waMarks = "\ufeff\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

// waHeader is the beginning of a message.
type waHeader struct {
	stamp waStamp
	sign  byte   // '[' of iPhones, '-' of Android, ':' of old iPhones
	rest  string // the author and the text
}

// split reads a line that begins a message.
func split(s string) (waHeader, bool) {
	s = strings.TrimLeft(s, waMarks+" ")
	if s == "" || (s[0] < '0' || s[0] > '9') && s[0] != '[' && s[0] < 0x80 { // which is most lines that do not
		return waHeader{}, false
	}
	for _, way := range []struct{ sign, start, end string }{{"[", "[", "]"}, {"-", "", " - "}, {"-", "", " – "},
		{":", "", ": "}} {
		inside, ok := strings.CutPrefix(s, way.start)
		if !ok {
			continue
		}
		stamp, rest, ok := strings.Cut(inside, way.end)
		if !ok || len(stamp) > 80 {
			continue
		}
		if at, ok := readWAStamp(stamp); ok {
			return waHeader{at, way.sign[0], strings.TrimPrefix(rest, " ")}, true
		}
	}
	return waHeader{}, false
}

// author splits what stands behind the time. Lines of the app itself have no author; what
// they quote may look like one.
func (h waHeader) author(longer map[string]string) (author, said string, ok bool) {
	author, said, ok = strings.Cut(h.rest, ": ")
	if !ok {
		author, ok = strings.CutSuffix(strings.TrimRight(h.rest, waMarks+" "), ":")
	}
	quotes := 0
	for _, c := range author {
		if strings.ContainsRune(`"“”„«»「」`, c) {
			quotes++
		}
	}
	if author = waName(author); !ok || quotes%2 == 1 || author == "" || utf8.RuneCountInString(author) > waLongestName ||
		strings.HasPrefix(author, "<") {
		return "", h.rest, false
	}
	if long := longer[author]; long != "" && strings.HasPrefix(waName(h.rest), long+":") {
		_, said, _ = strings.Cut(said, ": ")
		return long, said, true
	}
	return author, said, true
}

// waName is a name without what is only there for its looks.
func waName(s string) string {
	s = strings.Map(func(c rune) rune {
		if strings.ContainsRune(waMarks, c) {
			return -1
		}
		return c
	}, s)
	return strings.Join(strings.Fields(strings.TrimLeft(s, "~ \u00a0\u202f")), " ")
}

func knows(src export.Source) int {
	if src.Files != nil {
		switch list := whatsAppFiles(src.Files); {
		case len(list) == 0:
			return 0
		case waRank(list[0]) > 0:
			return 90
		}
		return 70
	}
	return sureOf(src.Head)
}

// waProgram is what stands behind the time in the log of a program.
var waProgram = text.NewPattern(`^\[[A-Z]+\]|^(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|TRACE)\b|\{"\w+" ?:`)

// sureOf looks at the first lines: the very first begins a message, and one of
// them has an author, or is the app's word on encryption.
func sureOf(head []byte) int {
	seen, authors := 0, 0
	for l := range bytes.Lines(head) {
		s := export.UTF8Line(bytes.TrimSpace(l))
		if s == "" {
			continue
		}
		h, ok := split(s)
		if !ok && seen == 0 {
			return 0
		}
		if seen++; seen > 200 {
			break
		}
		if _, _, authored := h.author(nil); ok &&
			(authored && !waProgram.MatchString(h.rest) || waEncrypted.MatchString(h.rest)) {
			authors++
		}
	}
	if authors == 0 {
		return 0
	}
	return 85
}

// whatsAppFiles finds the chats of a folder or archive. A text that was sent as a file may
// look like a chat, but stands beside the chat.
func whatsAppFiles(files fs.FS) (list []string) {
	all := export.KnownFiles(files, []string{".txt"}, func(head []byte) bool { return sureOf(head) > 0 })
	best := map[string]int{}
	for _, name := range all {
		best[path.Dir(name)] = max(best[path.Dir(name)], waRank(name))
	}
	for _, name := range all {
		if waRank(name) == best[path.Dir(name)] {
			list = append(list, name)
		}
	}
	return list
}

// waRank says how much the name of a file is one that the app gives.
func waRank(name string) int {
	switch base := path.Base(name); {
	case base == "_chat.txt":
		return 2
	case waTitle(base) != "":
		return 1
	}
	return 0
}

// waTitles are the names that the app gives to the files, around the chat's title.
var waTitles = []*text.Pattern{
	text.NewPattern(`(?i)^WhatsApp[ -]?Chat (?:with|mit|con|com|avec|met|med|-) (.+)$`),
	text.NewPattern(`(?i)^(?:Chat|Conversa|Conversación|Discussion|Conversation|Чат|Czat)(?: de| do)? WhatsApp (?:con|com|avec|с контактом|с|z|-) ?(.+)$`),
	text.NewPattern(`(?i)^(.+) ile WhatsApp Sohbeti$`),
	text.NewPattern(`^[与與](.+?)的 ?WhatsApp ?(?:聊天|对话|對話)(?:记录|紀錄|記錄)?$`),
	text.NewPattern(`^WhatsApp ?(?:聊天|对话|對話|チャット|대화)(?:记录|紀錄|記錄)? ?- ?(.+)$`),
	text.NewPattern(`^(.+?)(?:との ?WhatsApp ?チャット|님과의 ?WhatsApp ?대화| के साथ WhatsApp चैट)$`),
	text.NewPattern(`^(?:دردشة|محادثة) (?:واتساب|WhatsApp) مع (.+)$`),
}

// waCopy is what browsers and systems add to the name of a second file.
var waCopy = text.NewPattern(`(?i)( ?\(\d+\))?(\.(txt|zip|gz|tgz|tar))*( ?\(\d+\))?$`)

// waTitle is the title of a chat in the name of its file, or "".
func waTitle(base string) string {
	base = waName(waCopy.ReplaceAllString(base, ""))
	for _, title := range waTitles {
		if m := title.FindStringSubmatch(base); m != nil {
			return m[1]
		}
	}
	return ""
}

// chat is the chat of a file: by its own name or its folder's, then by what the
// text calls itself.
func chat(name, inText string) export.Chat {
	name = filepath.ToSlash(name)
	base, parent := path.Base(name), path.Base(path.Dir(name))
	if parent == "." || parent == "/" || parent == ".." {
		parent = ""
	}
	title := waTitle(base)
	if title == "" && base == "_chat.txt" {
		title, base = waTitle(parent), parent
	}
	if title == "" {
		title = inText
	}
	if title == "" && base != "-" {
		title = waName(waCopy.ReplaceAllString(base, ""))
	}
	if title == "" {
		title = "chat"
	}
	return export.Chat{ID: title, Name: title}
}

func read(ctx context.Context, src export.Source, opts export.ReadOptions) iter.Seq2[export.Record, error] {
	return func(yield func(export.Record, error) bool) {
		if src.Files == nil {
			w := waReader{ctx: ctx, opts: opts, yield: yield}
			if _, err := w.file(src.Name, src.Reader); err != nil {
				yield(export.Record{}, err)
			}
			return
		}
		list := whatsAppFiles(src.Files)
		export.InArchiveOrder(src.Files, list)
		for _, name := range list {
			if !export.EachFile(ctx, src.Files, name, yield, func(f io.Reader) (bool, error) {
				w := waReader{ctx: ctx, opts: opts, yield: yield, within: name + ", "}
				return w.file(path.Join(filepath.ToSlash(src.Name), name), f)
			}) {
				return
			}
		}
	}
}

// waReader reads one text.
type waReader struct {
	ctx    context.Context
	opts   export.ReadOptions
	yield  func(export.Record, error) bool
	within string // in front of places
	chat   export.Chat
	waManner
	ids  export.Ordinals
	open waMessage
}

// waMessage is the message at hand, whose next lines may follow.
type waMessage struct {
	place string // "" is none
	waHeader
	lines []string
	size  int
	bad   *export.Bad // why it cannot be read; its place is the message's
}

// file tells the messages of a text, and whether anybody listens on. The error says why
// it cannot be read to its end.
func (w *waReader) file(name string, r io.Reader) (bool, error) {
	ahead, _ := io.ReadAll(io.LimitReader(r, waAhead)) // what fails here fails once more when it is read
	manner, err := mannerOf(ahead, w.opts.DateOrder)
	if err != nil {
		return false, err
	}
	w.waManner, w.chat = manner, chat(name, manner.title)
	if !w.opts.Wants(w.chat) {
		return true, nil
	}
	for l, err := range export.Lines(io.MultiReader(bytes.NewReader(ahead), r)) {
		if err == nil {
			err = w.ctx.Err()
		}
		var bad *export.Bad
		switch {
		case errors.As(err, &bad): // nobody can tell whether it goes on from the message at hand
			if w.open.place == "" {
				w.open.place = w.within + l.Place()
			}
			w.open.bad = bad
		case err != nil:
			return false, err
		case !w.line(l):
			return false, nil
		}
	}
	return w.close(), nil
}

// line takes in one line.
func (w *waReader) line(l export.Line) bool {
	s := export.UTF8Line(l.Text)
	h, ok := split(s)
	if ok && w.begins(h) {
		if !w.close() {
			return false
		}
		w.open = waMessage{place: w.within + l.Place(), waHeader: h}
		return true
	}
	if w.open.size += len(s) + 1; w.open.size > reverie.MaxMessageTextLength && w.open.place != "" && w.open.bad == nil {
		w.open.bad = &export.Bad{Reason: "too long", Err: fmt.Errorf("the message has more than %d bytes: %w",
			reverie.MaxMessageTextLength, reverie.ErrInvalid)}
	}
	switch {
	case w.open.bad != nil:
		w.open.lines = nil
	case w.open.place != "":
		w.open.lines = append(w.open.lines, s)
	case strings.TrimSpace(s) != "":
		return w.yield(export.Record{}, &export.Bad{Place: w.within + l.Place(), Reason: "no header",
			Err: fmt.Errorf("it stands in front of the first message: %w", reverie.ErrInvalid)})
	}
	return true
}

// close tells the message at hand.
func (w *waReader) close() bool {
	m := w.open
	w.open = waMessage{}
	if m.place == "" {
		return true
	}
	wall, ok := m.stamp.in(w.order, time.UTC)
	if !ok && m.bad == nil {
		m.bad = &export.Bad{Reason: "no such date",
			Err: fmt.Errorf("%s is no date when it is read as %s, as the others are: %w",
				strings.Join(m.stamp.date[:], string(m.stamp.sep)), w.order, reverie.ErrInvalid)}
	}
	if m.bad != nil {
		return w.yield(export.Record{}, &export.Bad{Place: m.place, Reason: m.bad.Reason, Err: m.bad.Err})
	}
	zone := w.opts.Zone
	if zone == nil {
		zone = time.UTC
	}
	at, _ := m.stamp.in(w.order, zone)
	author, said, authored := m.author(w.longer)
	r := export.Record{Chat: w.chat, Place: m.place, Event: !authored}
	r.Message = reverie.Message{ID: w.ids.ID(w.chat.ID, wall.Format(time.DateTime), author), Role: reverie.RoleUser,
		SentAt: at, AuthorID: author, Author: author}
	said = strings.Join(append([]string{said}, m.lines...), "\n")
	if authored {
		r.Message.Text, r.Event = waSaid(said, m.sign == '[')
	} else {
		r.Message.AuthorID, r.Message.Author, r.Message.Text = w.chat.ID, w.chat.Name, waPlainText(said)
	}
	return w.yield(r, nil)
}
