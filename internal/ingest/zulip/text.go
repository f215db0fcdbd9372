package zulip

import (
	"cmp"
	"encoding/xml"
	"errors"
	"html"
	"io"
	"slices"
	"strconv"
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

// markdown turns HTML as Zulip renders it back into the Markdown that it was made of,
// as far as that is read. What is no HTML loses its tags.
func markdown(s string) string {
	d := xml.NewDecoder(strings.NewReader(s))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	stack := []*element{{}}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && len(stack) == 1 {
			return stack[0].text.String()
		}
		if err != nil || len(stack) > maxHTML {
			return plainHTML(s)
		}
		top := stack[len(stack)-1]
		switch t := token.(type) {
		case xml.CharData:
			top.text.Write(t)
		case xml.StartElement:
			stack = append(stack, &element{name: strings.ToLower(t.Name.Local), attr: t.Attr})
		case xml.EndElement:
			if len(stack) == 1 {
				return plainHTML(s)
			}
			said := top.markdown()
			stack = stack[:len(stack)-1]
			stack[len(stack)-1].text.WriteString(said)
		}
	}
}

// maxHTML is how deep HTML is read; Zulip's own stays far below it.
const maxHTML = 100

// element is an element of HTML that is being read, with the text so far.
type element struct {
	name string
	attr []xml.Attr
	text strings.Builder
}

func (e *element) get(name string) string {
	for _, a := range e.attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// is tells whether the element is of a class.
func (e *element) is(class string) bool {
	return slices.Contains(strings.Fields(e.get("class")), class)
}

// markdown is what the element, which has come to its end, was in Markdown.
func (e *element) markdown() string {
	said := e.text.String()
	switch e.name {
	case "ul", "ol":
		return export.JoinLines(strings.Split(said, "\n")...) + "\n"
	case "p", "tr", "h1", "h2", "h3", "h4", "h5", "h6":
		return said + "\n"
	case "br":
		return "\n"
	case "hr":
		return "---\n"
	case "li":
		return "- " + strings.TrimSpace(said) + "\n"
	case "td", "th":
		return said + " "
	case "code":
		return said
	case "pre":
		return "```\n" + strings.Trim(said, "\n") + "\n```\n"
	case "blockquote":
		fence := zulipFence(said)
		return fence + "quote\n" + strings.Trim(said, "\n") + "\n" + fence + "\n"
	case "div":
		if e.is("message_inline_image") || e.is("message_embed") || e.is("inline-preview-twitter") {
			return "" // of a link that stands in the text
		}
		return said
	case "img":
		if e.is("emoji") {
			return e.get("alt")
		}
		return ""
	case "a":
		return e.link(said)
	case "mrow":
		return "" // what stands beside it as it was written
	case "annotation":
		return "$$" + said + "$$"
	case "time":
		return cmp.Or(e.get("datetime"), said)
	case "span":
		return e.span(said)
	}
	return said
}

// zulipFence is a fence that none within the text is as long as.
func zulipFence(text string) string {
	run, longest := 0, 2
	for i := range len(text) {
		if run++; text[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}

func (e *element) link(said string) string {
	address := e.get("href")
	switch {
	case strings.TrimSpace(said) == "" || e.is("stream") || e.is("stream-topic") || e.is("message-link"):
		return said
	case said == address || address == "":
		return said
	}
	return "[" + said + "](" + address + ")"
}

func (e *element) span(said string) string {
	switch {
	case e.is("user-mention") && e.is("silent"):
		return "@_**" + said + "**"
	case e.is("user-mention"):
		return "@**" + strings.TrimPrefix(said, "@") + "**"
	case e.is("user-group-mention"):
		return "@*" + strings.TrimPrefix(said, "@") + "*"
	case e.is("katex-html"):
		return "" // what is drawn; what was written stands beside it
	case e.is("emoji"):
		for _, class := range strings.Fields(e.get("class")) {
			if codes, ok := strings.CutPrefix(class, "emoji-"); ok {
				return cmp.Or(emojiOf(codes), said)
			}
		}
	}
	return said
}

// emojiOf is the emoji of hexadecimal code points such as 1f44d, or "".
func emojiOf(codes string) string {
	var out strings.Builder
	for code := range strings.SplitSeq(codes, "-") {
		n, err := strconv.ParseUint(code, 16, 21)
		if err != nil || n < 0x20 {
			return ""
		}
		out.WriteRune(rune(n))
	}
	return out.String()
}
