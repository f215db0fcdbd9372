package teams

import (
	"strings"

	"golang.org/x/net/html"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
)

// plain is the text of a message's HTML, without what it quotes, and the id of the message quoted.
func plain(s string) (said, quoted string) {
	if len(s) > reverie.MaxMessageTextLength {
		return s, "" // it is refused
	}
	var out strings.Builder
	href, link, quotes := "", 0, 0 // of the link that is open, and where its text begins
	for z := html.NewTokenizer(strings.NewReader(s)); ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		token := z.Token()
		quote := token.Data == "blockquote" && (quotes > 0 || attr(token, "itemtype") == "http://schema.skype.com/Reply" ||
			kind == html.EndTagToken) || token.Data == "quote"
		switch {
		case quote && kind == html.StartTagToken:
			if quotes++; quoted == "" {
				quoted = attr(token, "itemid") + attr(token, "messageid")
			}
		case quote && kind == html.EndTagToken:
			quotes = max(0, quotes-1)
		case quotes > 0:
		case kind == html.TextToken:
			out.WriteString(token.Data)
		case kind == html.EndTagToken && token.Data == "a":
			if text := out.String()[link:]; href != "" && strings.TrimSpace(text) != href {
				out.WriteString(" (" + href + ")")
			}
			href = ""
		case kind == html.EndTagToken:
			out.WriteString(after[token.Data])
		default:
			out.WriteString(before[token.Data])
			switch {
			case token.Data == "a":
				href, link = attr(token, "href"), out.Len()
			case token.Data == "emoji", token.Data == "img" && strings.HasSuffix(attr(token, "itemtype"), "/Emoji"):
				out.WriteString(attr(token, "alt"))
			case strings.HasSuffix(attr(token, "itemtype"), "/Mention"):
				out.WriteString("@")
			}
		}
	}
	lines := strings.Split(strings.ReplaceAll(out.String(), "\u00a0", " "), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\r")
	}
	return strings.TrimSpace(export.JoinLines(lines...)), quoted
}

// before and after are what elements put around their text.
var (
	before = map[string]string{"br": "\n", "at": "@", "li": "\n- "}
	after  = map[string]string{"p": "\n", "div": "\n", "li": "\n", "tr": "\n", "td": " ", "pre": "\n", "h1": "\n", "h2": "\n", "h3": "\n"}
)

func attr(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
