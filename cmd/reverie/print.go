package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rivo/uniseg"
	"golang.org/x/term"

	"reverie/internal/lazyregexp"
)

// printJSON writes one document, indented: people read it too.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// printJSONLine writes one document on one line, for streams of them.
func printJSONLine(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// terminal tells whether w is one.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// style colours what goes to a terminal, unless NO_COLOR says otherwise.
type style struct{ on bool }

func (s style) paint(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(t string) string  { return s.paint("1", t) }
func (s style) dim(t string) string   { return s.paint("2", t) }
func (s style) red(t string) string   { return s.paint("31", t) }
func (s style) green(t string) string { return s.paint("32", t) }
func (s style) amber(t string) string { return s.paint("33", t) }

// table aligns columns by what they take up on a screen, where a Chinese
// character is two wide. The last column is left as long as it is.
type table struct{ rows [][]string }

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// note adds lines that are in no column.
func (t *table) note(lines ...string) {
	for _, l := range lines {
		t.rows = append(t.rows, []string{l})
	}
}

// trim drops those of the named columns that hold nothing in any row.
func (t *table) trim(names ...string) {
	for _, name := range names {
		i := slices.Index(t.rows[0], name)
		if slices.ContainsFunc(t.rows[1:], func(row []string) bool { return i < len(row) && len(row) > 1 && row[i] != "" }) {
			continue
		}
		for n, row := range t.rows {
			if i < len(row) && len(row) > 1 {
				t.rows[n] = slices.Delete(row, i, i+1)
			}
		}
	}
}

var paintPattern = lazyregexp.New("\x1b\\[[0-9]+m")

// width is what a cell takes up on a screen.
func width(cell string) int { return uniseg.StringWidth(paintPattern.ReplaceAllString(cell, "")) }

func (t *table) write(w io.Writer, s style) error {
	var widths []int
	for _, row := range t.rows {
		if len(row) == 1 {
			continue // a note
		}
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], width(cell))
		}
	}
	for n, row := range t.rows {
		var b strings.Builder
		for i, cell := range row {
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-width(cell)))
			}
		}
		line := strings.TrimRight(b.String(), " ")
		if n == 0 {
			line = s.bold(line)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// visible makes text that came from chats or models safe for a terminal: no
// escape sequence, no line break gets through.
func visible(text string) string {
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

// visibleLines is an error, which may repeat what a chat or a server said, safe
// for a terminal; its lines stay apart.
func visibleLines(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i, l := range lines {
		lines[i] = visible(l)
	}
	return strings.Join(lines, "\n")
}

// stamp is an instant as tables show it: UTC, to the minute.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// plural counts things: 1 message, 2 messages, 3 memories, 4 days.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if strings.HasSuffix(thing, "y") && !strings.HasSuffix(thing, "ay") {
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(thing, "y"))
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
