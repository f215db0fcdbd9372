package teams

import (
	"strings"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
)

// plain returns the text of a message's HTML without quotations, and the id of the quoted message.
func plain(s string) (said, quoted string) {
	if len(s) > reverie.MaxMessageTextLength {
		return s, "" // too long: it will be refused
	}
	said = export.HTMLText(s, func(e export.Element, said string) (string, bool) {
		kind := e.Get("itemtype")
		switch {
		case e.Data == "quote", e.Data == "blockquote" && kind == "http://schema.skype.com/Reply":
			quoted = e.Get("itemid") + e.Get("messageid") // of nested quotations, the outer one
			return "", true
		case e.Data == "emoji", e.Data == "img" && strings.HasSuffix(kind, "/Emoji"):
			return e.Get("alt") + said, true
		case e.Data == "at", strings.HasSuffix(kind, "/Mention"):
			return "@" + said, true
		}
		return "", false
	})
	lines := strings.Split(strings.ReplaceAll(said, "\u00a0", " "), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\r")
	}
	return strings.TrimSpace(export.JoinLines(lines...)), quoted
}
