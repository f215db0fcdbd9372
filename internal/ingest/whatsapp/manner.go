package whatsapp

import (
	"bytes"
	"fmt"
	"strings"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
)

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
		return waManner{}, fmt.Errorf("no line of it begins with a date and a time, as WhatsApp writes them: %w",
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
	if author, said, ok := own[0].author(m.longer); ok && m.sign == '[' && waEncrypted.MatchString(said) {
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
