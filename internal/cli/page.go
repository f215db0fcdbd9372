package cli

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template"
	"time"

	"reverie/internal/replay"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

//go:embed templates
var templateFiles embed.FS

//go:embed words.toml
var wordFile string

// words is words.toml.
var words = sync.OnceValue(func() wordTable { return text.ReadTOML[wordTable](wordFile) })

type wordTable struct {
	Made, Became map[reverie.Action]string
	Decided      map[reverie.DecisionAction]string
	Basis        map[reverie.Basis]string
	Left         map[reverie.Job]string
	Skipped      map[string]string
	Page         map[string]map[string]string
}

// pages are the templates of what is shown to people. A line of a template that has only
// actions, such as if, range and end, is no line of the page. What chats, models and people
// wrote must pass through visible, excerpt or words.
//
// Between {{table}} and {{endtable}} each line is a row, with tabs between its cells, and
// the first one is the head. What ends a name in the head says how its column is shown on
// a terminal: ? leaves it out where it holds nothing, ! leaves it out where the table is too
// wide for the terminal, the last one first, and ~ breaks its text into lines as wide as
// there is room. A line without a tab is a note between rows.
var pages = sync.OnceValue(func() *template.Template {
	actionLine := regexp.MustCompile(`(?m)^[ \t]*((?:\{\{(?:\$[a-z]+ :=|(?:if|else|end|range|with|define|template|table|endtable)\b)[^}]*\}\})+)[ \t]*\n`)
	all := template.New("").Funcs((&Console{}).pageFuncs())
	files, err := templateFiles.ReadDir("templates")
	for _, f := range files {
		raw, readErr := templateFiles.ReadFile(path.Join("templates", f.Name()))
		_, parseErr := all.New(strings.TrimSuffix(f.Name(), ".tmpl")).Parse(actionLine.ReplaceAllString(string(raw), "$1"))
		err = errors.Join(err, readErr, parseErr)
	}
	if err != nil {
		panic(fmt.Sprintf("the templates of pages: %v", err))
	}
	return all
})

// Page prints what a template makes of data.
func (con *Console) Page(name string, data any) error {
	t, err := pages().Clone()
	if err != nil {
		return fmt.Errorf("page %s: %w", name, err)
	}
	var text strings.Builder
	if err := t.Funcs(con.pageFuncs()).ExecuteTemplate(&text, name, data); err != nil {
		return fmt.Errorf("print %s: %w", name, err)
	}
	_, err = io.WriteString(con.Stdout, con.setTables(text.String()))
	return err
}

// The ends of a table in a page that is not set yet. Nothing that is visible has them.
const tableBegins, tableEnds = "\x02", "\x03"

// setTables sets the tables of a page: in columns on a terminal. What is piped has a tab
// between cells instead, all columns and no head, as other programs want it.
func (con *Console) setTables(page string) string {
	var set strings.Builder
	columns := con.columns()
	for {
		before, rest, found := strings.Cut(page, tableBegins)
		con.setText(&set, before, columns)
		if !found {
			return set.String()
		}
		body, after, _ := strings.Cut(rest, tableEnds)
		var rows [][]string
		for row := range strings.Lines(body) {
			rows = append(rows, strings.Split(strings.TrimSuffix(row, "\n"), "\t"))
		}
		if columns == 0 {
			for _, row := range rows[1:] {
				fmt.Fprintln(&set, strings.Join(row, "\t"))
			}
		} else {
			con.align(&set, rows, columns)
		}
		page = after
	}
}

// setText sets what is between tables. On a terminal, what goes on in a further line stands
// under its beginning. A command stays whole, since people copy it.
func (con *Console) setText(set *strings.Builder, text string, columns int) {
	for line := range strings.Lines(text) {
		words := strings.TrimLeft(line, " ")
		indent := len(line) - len(words)
		if columns == 0 || Width(line) <= columns || strings.HasPrefix(words, "reverie ") {
			set.WriteString(line)
			continue
		}
		under := strings.Repeat(" ", min(indent+2, columns/2))
		for i, part := range fold(strings.TrimSuffix(words, "\n"), columns-len(under)) {
			if i == 0 {
				set.WriteString(line[:indent] + part + "\n")
			} else {
				set.WriteString(under + part + "\n")
			}
		}
	}
}

// columns is how wide a table may be; 0 where it is not for a terminal.
func (con *Console) columns() int {
	if con.Columns != 0 || !Terminal(con.Stdout) {
		return con.Columns
	}
	return cmp.Or(terminalWidth(con.Stdout), usualWidth)
}

// note tells whether a row is a note, which is in no column.
func note(row []string) bool { return len(row) == 1 }

const (
	leastText = 30 // how narrow a column of text may become before others are left out
	leftOut   = -2 // the width of a column that is not shown, less the space after it
)

// align sets rows in columns by what cells take up on a screen, where a Chinese character
// is two wide.
func (con *Console) align(set *strings.Builder, rows [][]string, columns int) {
	head, less, long := rows[0], make([]bool, len(rows[0])), -1
	widths := make([]int, len(head))
	for i, name := range head {
		head[i] = strings.TrimRight(name, "?!~")
		marks := name[len(head[i]):]
		less[i] = strings.Contains(marks, "!")
		if strings.Contains(marks, "~") {
			long = i
		}
		if strings.Contains(marks, "?") &&
			!slices.ContainsFunc(rows[1:], func(row []string) bool { return i < len(row) && row[i] != "" && !note(row) }) {
			widths[i] = leftOut
		}
		for _, row := range rows {
			if widths[i] != leftOut && i < len(row) && !note(row) {
				widths[i] = max(widths[i], Width(row[i]))
			}
		}
	}
	narrow(widths, less, long, columns)
	for n, row := range rows {
		if note(row) {
			fmt.Fprintln(set, row[0])
			continue
		}
		for _, line := range linesOf(row, widths, long) {
			if n == 0 {
				line = con.Style().Bold(line)
			}
			fmt.Fprintln(set, line)
		}
	}
}

// narrow makes columns fit: the long one gives way first, then those that may be left out
// go, the last one first.
func narrow(widths []int, less []bool, long, columns int) {
	over := func() int {
		sum := -2
		for i, w := range widths {
			if i == long {
				w = min(w, leastText)
			}
			sum += w + 2
		}
		return sum - columns
	}
	for i := len(widths) - 1; i >= 0 && over() > 0; i-- {
		if less[i] {
			widths[i] = leftOut
		}
	}
	if long >= 0 && widths[long] != leftOut {
		room := min(widths[long], leastText) - over()
		widths[long] = min(widths[long], max(room, leastText))
	}
}

// linesOf sets a row, whose long cell may take several lines.
func linesOf(row []string, widths []int, long int) []string {
	cells := make([][]string, len(row))
	lines := 1
	for i, cell := range row {
		cells[i] = []string{cell}
		if i == long && widths[i] > 0 && Width(cell) > widths[i] {
			cells[i] = wrap(cell, widths[i])
		}
		lines = max(lines, len(cells[i]))
	}
	set := make([]string, lines)
	for n := range set {
		var line strings.Builder
		for i, w := range widths {
			if w == leftOut || i >= len(row) {
				continue
			}
			cell := ""
			if n < len(cells[i]) {
				cell = cells[i][n]
			}
			line.WriteString(cell + strings.Repeat(" ", max(w-Width(cell), 0)+2))
		}
		set[n] = strings.TrimRight(line.String(), " ")
	}
	return set
}

// pageFuncs are what templates can call, in the colours of the console.
func (con *Console) pageFuncs() template.FuncMap {
	var s Style
	if con.Stdout != nil {
		s = con.Style()
	}
	return template.FuncMap{
		"bold": s.Bold, "dim": s.Dim, "red": s.Red, "green": s.Green, "amber": s.Amber, "status": s.Status,
		"words":   func(before, after string) string { return WordDiff(s, before, after) },
		"why":     func(reason string) string { return s.Dim("why: " + Visible(reason)) },
		"excerpt": func(n int, t string) string { return Visible(text.Excerpt(t, n)) },
		"id":      reverie.ShortID,
		"visible": func(t any) string { return Visible(fmt.Sprint(t)) },
		"stamp":   Stamp, "written": written, "day": day, "plural": Plural, "usd": USD, "join": strings.Join,
		"quoted": Quoted, "operand": Operand, "counts": Counts, "took": took, "quotes": quotes, "zone": Zone,
		"mark":    func(action reverie.EntityAction) string { return changeMark(s, action) },
		"usedHow": usedHow, "sourceWhat": sourceWhat, "sourceKind": sourceKind,
		"tables":      tableCounts,
		"teamOutcome": teamOutcome, "teamSum": teamSum,
		"tally": tally, "author": author, "idAndTags": func(m reverie.Memory) []string {
			return append([]string{m.ID},
				m.Tags...)
		},
		"table": func() string { return tableBegins }, "endtable": func() string { return tableEnds },
		"ok": s.Mark, "kindOf": kindOf, "typeOf": typeOf, "compact": text.Compact, "changed": changed, "waiting": waiting, "ahead": Ahead,
		"minute": func(t time.Time) string { return t.Format("Mon 2006-01-02 15:04") }, "commas": text.Grouped, "times": times,
		"vectors": vectorText, "lastSupported": lastSupported,
		"windowOf": windowOf, "dreamsListed": dreamsListed, "setback": SetbackText, "remedy": Remedy,
		"share": share, "percent": percent, "filtered": filtered, "actCounts": actCounts, "spends": spends,
		"act":     func(a *replay.Act, before, after string) string { return act(s, *a, before, after) },
		"reach":   reach,
		"stepped": stepped, "tags": func(before, after []string) string { return tagDiff(s, before, after) },
		"saidBy": saidBy, "newestQuotes": newestQuotes, "whyWaiting": whyWaiting,
		"first": first, "more": more, "letPass": LetPass, "covers": covers, "passed": passed,
	}
}

// written says when a version was written, where that is not when the chat said it.
func written(m reverie.Memory) string {
	if Stamp(m.SaidAt) == Stamp(m.UpdatedAt) {
		return ""
	}
	return "  written " + Stamp(m.UpdatedAt)
}
