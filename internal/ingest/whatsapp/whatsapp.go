// Package whatsapp reads the app's "Export chat": a text, alone or in an archive with pictures. It has neither ids
// nor a time zone. People have their names from the exporting phone, and dates follow the phone's language. A chat
// is identified by its title, which is in the file name.
package whatsapp

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Format describes WhatsApp's export.
var Format = export.Format{
	Name:   "whatsapp",
	Title:  "WhatsApp chat export (txt or zip)",
	Head:   sureOf,
	Folder: sureOfFolder,
	Tell: func(t *export.Teller, src export.Source) error {
		return t.Files(src, whatsAppFiles, func(src export.Source) error { return (&waReader{Teller: t}).file(src) })
	},
}

// waAhead is the number of bytes by which the form of dates is detected.
const waAhead = 4 << 20

// waLongestName is the maximum number of letters of a name. Contacts on a phone are much shorter.
const waLongestName = 100

// waMarks are direction marks and other invisible characters.
const waMarks = "\ufeff\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

// waHeader is the beginning of a message.
type waHeader struct {
	stamp waStamp
	sign  byte   // '[' of iPhones, '-' of Android, ':' of old iPhones
	rest  string // the author and the text
}

// split parses a line that begins a message.
func split(s string) (waHeader, bool) {
	s = strings.TrimLeft(s, waMarks+" ")
	// Excludes most lines that do not begin a message.
	if s == "" || s[0] < 0x80 && !strings.ContainsRune("0123456789[RH", rune(s[0])) {
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

// author splits the text after the time. Messages of the app itself have no author, even if their text looks like
// it.
func (h waHeader) author() (author, said string, ok bool) {
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
	return author, said, true
}

// waName returns a name without decorative characters.
func waName(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(c rune) bool { return strings.ContainsRune(waMarks, c) }), "")
	return strings.Join(strings.Fields(strings.TrimLeft(s, "~ \u00a0\u202f")), " ")
}

func sureOfFolder(files fs.FS) int {
	switch list := whatsAppFiles(files); {
	case len(list) == 0:
		return 0
	case waRank(list[0]) > 0:
		return 90
	}
	return 70
}

// waProgram matches the text after the time in the log of a program.
var waProgram = text.NewPattern(`^\[[A-Z]+\]|^(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|TRACE)\b|\{"\w+" ?:`)

// waPreface is the maximum number of lines before the first message.
const waPreface = 5

// sureOf examines the first lines. The first one must begin a message, and one must have an author or be the app's
// notice of encryption. If other lines precede the first message, two must.
func sureOf(head []byte) int {
	seen, authors, preface := 0, 0, 0
	for l := range bytes.Lines(head) {
		s := export.UTF8Line(bytes.TrimSpace(l))
		if s == "" {
			continue
		}
		h, ok := split(s)
		if !ok && seen == 0 {
			if preface++; preface > waPreface {
				return 0
			}
			continue
		}
		if seen++; seen > 200 {
			break
		}
		if _, _, authored := h.author(); ok &&
			(authored && !waProgram.MatchString(h.rest) || phrases.Encrypted.MatchString(h.rest)) {
			authors++
		}
	}
	switch {
	case authors == 0 || preface > 0 && authors < 2:
		return 0
	case preface > 0:
		return 70
	}
	return 85
}

// whatsAppFiles finds the chats of a folder or archive. A text sent as a file may look like a chat, but is next to
// one.
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

// waRank says how closely the name of a file resembles those that the app gives.
func waRank(name string) int {
	switch base := path.Base(name); {
	case base == "_chat.txt":
		return 2
	case waTitle(base) != "":
		return 1
	}
	return 0
}

// waCopy matches what browsers and systems add to the name of a second file.
var waCopy = text.NewPattern(`(?i)( ?\(\d+\))?(\.(txt|zip|gz|tgz|tar))*( ?\(\d+\))?$`)

// waTitle returns the title of a chat from the name of its file, or "".
func waTitle(base string) string {
	base = waName(waCopy.ReplaceAllString(base, ""))
	for _, title := range phrases.Titles {
		if m := title.FindStringSubmatch(base); m != nil {
			return m[1]
		}
	}
	return ""
}

// chat returns the chat of a file: by the name of the file or its folder, then by the title in the text.
func chat(name, inText string) export.Chat {
	name = filepath.ToSlash(name)
	base, parent := path.Base(name), path.Base(path.Dir(name))
	if parent == "." || parent == "/" || parent == ".." {
		parent = ""
	}
	title := waTitle(base)
	if title == "" && waCopy.ReplaceAllString(base, "") == "_chat" {
		title, base = waTitle(parent), parent
	}
	if base == "-" {
		base = ""
	}
	title = cmp.Or(title, inText, waName(waCopy.ReplaceAllString(base, "")), "chat")
	return export.Chat{ID: title, Name: title}
}

// waReader reads one text.
type waReader struct {
	*export.Teller
	chat export.Chat
	waManner
	ids export.Ordinals
}

// file passes on the messages of a text.
func (w *waReader) file(src export.Source) error {
	ahead, _ := io.ReadAll(io.LimitReader(src.Reader, waAhead)) // an error will occur again when it is read
	manner, err := mannerOf(ahead, w.DateOrder)
	if err != nil {
		return err
	}
	w.waManner, w.chat = manner, chat(src.Name, manner.title)
	if !w.Wants(w.chat) {
		return nil
	}
	begins := func(line string) (waHeader, bool) {
		h, ok := split(line)
		return h, ok && w.begins(h)
	}
	return export.EachBlock(w.Teller, io.MultiReader(bytes.NewReader(ahead), src.Reader), begins, w.record)
}

// record reads one message.
func (w *waReader) record(b export.Block[waHeader]) error {
	h := b.Head
	wall, ok := h.stamp.in(w.order, time.UTC)
	if !ok {
		return &export.Bad{Reason: "no such date",
			Err: fmt.Errorf("%s is not a date when read as %s, like the others: %w",
				strings.Join(h.stamp.date[:], string(h.stamp.sep)), w.order, reverie.ErrInvalid)}
	}
	at, _ := h.stamp.in(w.order, w.Zone)
	author, said, authored := h.author()
	r := export.Record{Chat: w.chat, Place: b.Place, Event: !authored}
	r.Message = reverie.Message{ID: w.ids.ID(w.chat.ID, wall.Format(time.DateTime), author), SentAt: at,
		AuthorID: author, Author: author}
	said = strings.Join(append([]string{said}, b.Lines...), "\n")
	if authored {
		r.Message.Text, r.Event = waSaid(said, h.sign == '[')
	} else {
		r.Message.AuthorID, r.Message.Author, r.Message.Text = w.chat.ID, w.chat.Name, waPlainText(said)
	}
	return w.Tell(r)
}

// waManner is the form of a text, as most of its messages show.
type waManner struct {
	waStyle
	order string // order of dates: "dmy", "mdy" or "ymd"
	title string // the chat's title in the text; "" if none
}

// waStyle is what the headers of one text have in common.
type waStyle struct {
	sign  byte
	exact bool // times include seconds
}

func (h waHeader) style() waStyle { return waStyle{h.sign, h.stamp.exact} }

// begins reports whether a header belongs to the text, not to a pasted one.
func (m waManner) begins(h waHeader) bool { return h.style() == m.waStyle }

// mannerOf detects the manner from the beginning of a text. A requested order of dates counts if several are
// possible.
func mannerOf(ahead []byte, asked string) (waManner, error) {
	var headers []waHeader
	count := map[waStyle]int{}
	for l := range bytes.Lines(ahead) {
		if h, ok := split(export.UTF8Line(bytes.TrimRight(l, "\r\n"))); ok {
			headers = append(headers, h)
			count[h.style()]++
		}
	}
	if len(headers) == 0 {
		return waManner{}, fmt.Errorf("no line of it begins with a date and a time, as in exports of WhatsApp: %w",
			reverie.ErrInvalid)
	}
	most := headers[0].style()
	for style, n := range count {
		if n > count[most] {
			most = style
		}
	}
	m := waManner{waStyle: most}
	var stamps []waStamp
	own := headers[:0]
	for _, h := range headers {
		if m.begins(h) {
			own, stamps = append(own, h), append(stamps, h.stamp)
		}
	}
	if author, said, ok := own[0].author(); ok && m.sign == '[' && phrases.Encrypted.MatchString(said) {
		m.title = author
	}
	var err error
	m.order, err = waOrder(stamps, asked)
	return m, err
}
