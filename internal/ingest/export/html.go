package export

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// Element is an HTML element.
type Element struct{ *html.Node }

// Get returns an attribute, or "".
func (e Element) Get(name string) string {
	for _, a := range e.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// Is reports whether the element has a class.
func (e Element) Is(class string) bool { return slices.Contains(strings.Fields(e.Get("class")), class) }

// HTMLText returns the text of HTML. A format handles its own elements by read, which gets an element and its inner
// text; false selects the usual handling. HTML that is nested too deeply stays unchanged.
func HTMLText(s string, read func(e Element, said string) (string, bool)) string {
	doc, err := html.Parse(strings.NewReader(s))
	if err != nil {
		return s
	}
	return Element{doc}.text(read)
}

func (e Element) text(read func(e Element, said string) (string, bool)) string {
	switch e.Type {
	case html.TextNode:
		return e.Data
	case html.CommentNode:
		return ""
	}
	var b strings.Builder
	for child := range e.ChildNodes() {
		b.WriteString(Element{child}.text(read))
	}
	said := b.String()
	if own, ok := read(e, said); ok {
		return own
	}
	switch e.Data {
	case "ul", "ol":
		return "\n" + JoinLines(strings.Split(said, "\n")...) + "\n"
	case "li":
		return "- " + strings.TrimSpace(said) + "\n"
	case "td", "th":
		return said + " "
	case "br", "p", "div", "tr", "pre", "h1", "h2", "h3", "h4", "h5", "h6":
		return said + "\n"
	case "a":
		if href, words := e.Get("href"), strings.TrimSpace(said); href != "" && words != "" && words != href {
			return words + " (" + href + ")"
		}
	}
	return said
}
