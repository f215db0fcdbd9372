package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rivo/uniseg"
	"golang.org/x/term"

	"reverie/internal/diff"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Show prints a reply: as JSON if requested, otherwise with print.
func (con *Console) Show(reply any, print func() error) error {
	if con.JSON {
		return con.WriteJSON(reply)
	}
	return print()
}

// Warn prints warnings to standard error.
func (con *Console) Warn(warnings ...string) {
	for _, text := range warnings {
		fmt.Fprintf(con.Stderr, "warning: %s\n", Visible(text))
	}
}

// Terminal reports whether w is a terminal.
func Terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Style colours output to a terminal, unless NO_COLOR is set.
type Style struct{ on bool }

func (s Style) paint(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s Style) Bold(t string) string  { return s.paint("1", t) }
func (s Style) Dim(t string) string   { return s.paint("2", t) }
func (s Style) Red(t string) string   { return s.paint("31", t) }
func (s Style) Green(t string) string { return s.paint("32", t) }
func (s Style) Amber(t string) string { return s.paint("33", t) }

// Mark returns the mark of a good or a bad state.
func (s Style) Mark(ok bool) string {
	if ok {
		return s.Green("ok")
	}
	return s.Red("--")
}

// more says which part of a list was shown, if it was not all.
func (con *Console) more(offset, shown, total int) error {
	end := offset + shown
	if end >= total {
		return nil
	}
	return con.Say("%d to %d of %d; go on with --offset %d\n", offset+1, end, total, end)
}

var paintPattern = text.NewPattern("\x1b\\[[0-9]+m")

// Width returns the columns of a cell on a screen.
func Width(cell string) int { return uniseg.StringWidth(paintPattern.ReplaceAllString(cell, "")) }

// Visible makes text from chats or models safe for a terminal: it lets no escape sequence and no line break
// through.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case r < 0x20 || r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return '�'
		}
		return r
	}, text)
}

// VisibleLines returns the text of an error, which may quote a chat or a server, safe for a terminal; line breaks
// stay.
func VisibleLines(err error) string {
	return strings.Join(text.Each(strings.Split(reverie.ErrorText(err), "\n"), Visible), "\n")
}

// Stamp formats an instant for tables: UTC, to the minute.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// listed joins the non-empty parts.
func listed(sep string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), sep)
}

// some formats a count, "" if it is zero.
func some(n int, format string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, n)
}

// things formats a count of things with a description, "" if it is zero.
func things(n int, thing, what string) string {
	if n == 0 {
		return ""
	}
	return Plural(n, thing) + what
}

// Plural counts things: 1 message, 2 messages, 3 memories, 4 days.
func Plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if strings.HasSuffix(thing, "y") && !strings.HasSuffix(thing, "ay") {
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(thing, "y"))
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// WordDiff shows what an update changed, word by word: [-old-]{+new+}, in colour if possible.
func WordDiff(s Style, before, after string) string {
	var b strings.Builder
	for _, p := range diff.Words(before, after) {
		switch text := Visible(p.Text); p.Kind {
		case diff.Gone:
			b.WriteString(s.Red("[-" + text + "-]"))
		case diff.New:
			b.WriteString(s.Green("{+" + text + "+}"))
		default:
			b.WriteString(text)
		}
	}
	return b.String()
}
