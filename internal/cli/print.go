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

// Show prints an answer: as JSON where that was asked for, else as print does.
func (con *Console) Show(reply any, print func() error) error {
	if con.JSON {
		return con.WriteJSON(reply)
	}
	return print()
}

// Warn tells on standard error of what keeps nothing from its end.
func (con *Console) Warn(warnings ...string) {
	for _, text := range warnings {
		fmt.Fprintf(con.Stderr, "warning: %s\n", Visible(text))
	}
}

// Terminal tells whether w is one.
func Terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Style colours what goes to a terminal, unless NO_COLOR says otherwise.
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

// Mark is ok where something is, and a warning where it is not.
func (s Style) Mark(ok bool) string {
	if ok {
		return s.Green("ok")
	}
	return s.Red("--")
}

// more says which part of a list was shown, where there is more of it.
func (con *Console) more(offset, shown, total int) error {
	end := offset + shown
	if end >= total {
		return nil
	}
	return con.Say("%d to %d of %d; go on with --offset %d\n", offset+1, end, total, end)
}

var paintPattern = text.NewPattern("\x1b\\[[0-9]+m")

// Width is what a cell takes up on a screen.
func Width(cell string) int { return uniseg.StringWidth(paintPattern.ReplaceAllString(cell, "")) }

// Visible makes text that came from chats or models safe for a terminal: no
// escape sequence, no line break gets through.
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

// VisibleLines is an error, which may repeat what a chat or a server said, safe
// for a terminal; its lines stay apart.
func VisibleLines(err error) string {
	return strings.Join(text.Each(strings.Split(reverie.ErrorText(err), "\n"), Visible), "\n")
}

// Stamp is an instant as tables show it: UTC, to the minute.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// listed joins what is not empty.
func listed(sep string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), sep)
}

// some is a count in words, "" where it is nothing.
func some(n int, format string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, n)
}

// things counts things and says what of them, "" where there are none.
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

// bars are the heights of a sparkline, from the lowest that is more than nothing.
var bars = []rune("▁▂▃▄▅▆▇█")

// sparkline draws counts as one line, a character each, the highest of them full
// height. Nothing is a dot, so that a little can be told from it.
func sparkline(counts []int) string {
	if len(counts) == 0 {
		return ""
	}
	most := slices.Max(counts)
	var b strings.Builder
	for _, n := range counts {
		if n <= 0 {
			b.WriteRune('·')
			continue
		}
		b.WriteRune(bars[(n*len(bars)-1)/most])
	}
	return b.String()
}

// series is counts as a sparkline on a terminal, else as plain numbers.
func (con *Console) series(counts []int) string {
	if Terminal(con.Stdout) {
		return sparkline(counts)
	}
	return strings.Trim(fmt.Sprint(counts), "[]")
}

// spread is a series over a range that begins at 0, with its ends where it is drawn.
func (con *Console) spread(counts []int, end string) string {
	if Terminal(con.Stdout) {
		return "0 " + sparkline(counts) + " " + end
	}
	return con.series(counts)
}

// WordDiff shows what an update changed, word by word: [-gone-]{+new+}, in colour where
// there is colour.
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
