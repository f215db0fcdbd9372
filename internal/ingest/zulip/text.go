package zulip

import (
	"cmp"
	"html"
	"strings"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// text reads what a message says, and which message it answers: Zulip has no answers, but
// a quotation with a link to what it quotes.
func (z *reader) text(m message, author string) (said, replyTo string) {
	said = string(m.Content)
	if len(said) > reverie.MaxMessageTextLength {
		return said, "" // it is refused
	}
	if m.ContentType == "text/html" || m.ContentType == "" && m.Recipient == "" && strings.HasPrefix(said, "<") {
		said = markdown(said)
	}
	said, replyTo = unquote(strings.ReplaceAll(said, "\r\n", "\n"))
	said = zulipLink.ReplaceAllStringFunc(said, readLink)
	said = zulipMention.ReplaceAllStringFunc(said, func(mention string) string {
		part := zulipMention.FindStringSubmatch(mention)
		name := cmp.Or(part[1], part[3])
		if name == "" {
			name = cmp.Or(z.users[part[2]].name, "user "+part[2])
		}
		return "@" + name
	})
	said = zulipPlace.ReplaceAllStringFunc(said, func(place string) string {
		part := zulipPlace.FindStringSubmatch(place)
		return strings.TrimSuffix("#"+part[1]+" > "+part[2], " > ")
	})
	said = time.ReplaceAllString(said, "$1")
	said = strings.TrimSpace(blank.ReplaceAllString(said, "\n\n"))
	if rest, ok := strings.CutPrefix(said, "/me "); ok {
		return author + " " + rest, replyTo
	}
	for _, command := range []string{"/poll", "/todo"} {
		if rest, ok := strings.CutPrefix(said, command); ok && (rest == "" || rest[0] == ' ' || rest[0] == '\n') {
			question, answers, _ := strings.Cut(strings.TrimSpace(rest), "\n")
			return export.PollText(question, strings.Split(answers, "\n")), replyTo
		}
	}
	return said, replyTo
}

var (
	quote        = text.NewPattern("(?m)^@_\\*\\*[^*\n]+\\*\\*[^\\[\n]{0,20}\\[[^\\]\n]*\\]\\([^()\n]*/near/(\\d+)[^()\n]*\\)[^\n]{0,20}\\s*\n(`{3,}|~{3,}) ?quote[ \t]*\n")
	zulipLink    = text.NewPattern(`!?\[([^\[\]\n]*)\]\(([^()\s]+)\)`)
	upload       = text.NewPattern(`^(https?://[^/]+)?/?user_uploads/`)
	zulipMention = text.NewPattern(`@_?\*(?:\*([^*|\n]*)(?:\|(\d+))?\*\*|([^*\n]+)\*)`)
	zulipPlace   = text.NewPattern(`#\*\*([^*>\n]+)(?:>([^*\n]*?)(?:@\d+)?)?\*\*`)
	time         = text.NewPattern(`<time:([^<>\n]+)>`)
	blank        = text.NewPattern(`\n[ \t]*(\n[ \t]*)+`)
	htmlTag      = text.NewPattern(`<[^<>]*>`)
)

// unquote takes the quotations of other messages off, and returns the id of the first
// message quoted.
func unquote(s string) (rest, replyTo string) {
	var out strings.Builder
	for {
		at := quote.FindStringSubmatchIndex(s)
		if at == nil {
			out.WriteString(s)
			return out.String(), replyTo
		}
		out.WriteString(s[:at[0]])
		replyTo = cmp.Or(replyTo, s[at[2]:at[3]])
		fence := s[at[4]:at[5]]
		s = s[at[1]:]
		for line, found := "", true; found && strings.TrimSpace(line) != fence; {
			line, s, found = strings.Cut(s, "\n")
		}
	}
}

// readLink reads a link. One to a file that was uploaded says nothing.
func readLink(link string) string {
	part := zulipLink.FindStringSubmatch(link)
	switch label, address := part[1], part[2]; {
	case upload.MatchString(address) || strings.HasPrefix(link, "!"):
		return ""
	case label == "" || label == address:
		return address
	default:
		return label + " (" + address + ")"
	}
}

// plainHTML is the text of HTML without its tags, however broken it is.
func plainHTML(s string) string {
	return html.UnescapeString(htmlTag.ReplaceAllString(s, ""))
}
