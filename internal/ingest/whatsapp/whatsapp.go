// Package whatsapp reads what the app's "Export chat" makes: a text, by itself or in an
// archive with pictures. It says neither ids nor a zone, people are called as the
// exporting phone knows them, and dates are written as its language does. A chat is known
// by its title, which the name of the file says.
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

// Format is what the package reads.
var Format = export.Format{
	Name:   "whatsapp",
	Title:  "WhatsApp chat export (txt or zip)",
	Head:   sureOf,
	Folder: sureOfFolder,
	Tell: func(t *export.Teller, src export.Source) error {
		return t.Files(src, whatsAppFiles, func(src export.Source) error { return (&waReader{Teller: t}).file(src) })
	},
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
	if s == "" || s[0] < 0x80 && !strings.ContainsRune("0123456789[RH", rune(s[0])) { // which is most lines that do not
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

// waProgram is what stands behind the time in the log of a program.
var waProgram = text.NewPattern(`^\[[A-Z]+\]|^(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|TRACE)\b|\{"\w+" ?:`)

// waPreface is how many lines may stand in front of the first message.
const waPreface = 5

// sureOf looks at the first lines: the very first begins a message, and one of them has an author, or is the
// app's word on encryption. Where a few others stand in front of it, two of them are.
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
		if _, _, authored := h.author(nil); ok &&
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

// waCopy is what browsers and systems add to the name of a second file.
var waCopy = text.NewPattern(`(?i)( ?\(\d+\))?(\.(txt|zip|gz|tgz|tar))*( ?\(\d+\))?$`)

// waTitle is the title of a chat in the name of its file, or "".
func waTitle(base string) string {
	base = waName(waCopy.ReplaceAllString(base, ""))
	for _, title := range phrases.Titles {
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

// file tells the messages of a text.
func (w *waReader) file(src export.Source) error {
	ahead, _ := io.ReadAll(io.LimitReader(src.Reader, waAhead)) // what fails here fails once more when it is read
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
	author, said, authored := h.author(w.longer)
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

// waManner is how a text is written, as most of its messages tell.
type waManner struct {
	waStyle
	order  string            // of dates: "dmy", "mdy" or "ymd"
	longer map[string]string // authors with a colon in their names, by what stands before it
	title  string            // what the text calls the chat; "" where it does not
}

// waStyle is what the headers of one text have in common.
type waStyle struct {
	sign  byte
	exact bool // times have seconds
}

func (h waHeader) style() waStyle { return waStyle{h.sign, h.stamp.exact} }

// begins tells whether a header is one of the text's own, and not of one that somebody
// pasted.
func (m waManner) begins(h waHeader) bool { return h.style() == m.waStyle }

// mannerOf looks at the beginning of a text. An order of dates that is asked for
// counts where more than one is possible.
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
	m.longer = waLonger(own)
	if author, said, ok := own[0].author(m.longer); ok && m.sign == '[' && phrases.Encrypted.MatchString(said) {
		m.title = author
	}
	var err error
	m.order, err = waOrder(stamps, asked)
	return m, err
}

// waLonger finds names with a colon: what stands before it never writes without what
// stands behind it.
func waLonger(headers []waHeader) map[string]string {
	type seen struct {
		long string
		n    int
	}
	all := map[string]seen{}
	for _, h := range headers {
		author, said, ok := h.author(nil)
		if !ok {
			continue
		}
		long := ""
		if more, _, ok := strings.Cut(said, ": "); ok {
			long = author + ": " + waName(more)
		}
		if before, ok := all[author]; ok && before.long != long {
			long = ""
		}
		all[author] = seen{long, all[author].n + 1}
	}
	longer := map[string]string{}
	for author, s := range all {
		if s.long != "" && s.n >= 3 {
			longer[author] = s.long
		}
	}
	return longer
}
