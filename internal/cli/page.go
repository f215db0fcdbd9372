package cli

import (
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

	"reverie/internal/reverie"
	"reverie/internal/text"
)

//go:embed templates
var templateFiles embed.FS

// pages are the templates of what is shown to people. A line of a template that has only
// actions, such as if, range and end, is no line of the page. What chats, models and people
// wrote must pass through visible, excerpt or words.
//
// Between {{table}} and {{endtable}} each line is a row, with tabs between its cells, and
// the first one is the head. A column whose head ends with ? is left out where it holds
// nothing. A line without a tab is a note between rows.
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
	page, err := con.setTables(text.String())
	if err != nil {
		return err
	}
	_, err = io.WriteString(con.Stdout, page)
	return err
}

// The ends of a table in a page that is not set yet. Nothing that is visible has them.
const tableBegins, tableEnds = "\x02", "\x03"

// setTables aligns the tables of a page.
func (con *Console) setTables(page string) (string, error) {
	var set strings.Builder
	for {
		before, rest, found := strings.Cut(page, tableBegins)
		set.WriteString(before)
		if !found {
			return set.String(), nil
		}
		rows, after, _ := strings.Cut(rest, tableEnds)
		var t Table
		for row := range strings.Lines(rows) {
			t.rows = append(t.rows, strings.Split(strings.TrimSuffix(row, "\n"), "\t"))
		}
		for _, head := range slices.Clone(t.rows[0]) {
			if name, optional := strings.CutSuffix(head, "?"); optional {
				t.rows[0][slices.Index(t.rows[0], head)] = name
				t.Trim(name)
			}
		}
		if err := t.Write(&set, con.Style()); err != nil {
			return "", err
		}
		page = after
	}
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
		"visible": func(t any) string { return Visible(fmt.Sprint(t)) },
		"stamp":   Stamp, "day": day, "plural": Plural, "thousands": Thousands, "usd": USD, "join": strings.Join,
		"quoted": Quoted, "operand": Operand, "counts": Counts, "took": took, "quotes": quotes, "zone": Zone,
		"mark":    func(action reverie.EntityAction) string { return changeMark(s, action) },
		"usedHow": usedHow, "sourceWhat": sourceWhat,
		"tables": tableCounts, "counted": counted,
		"side": sideOf, "items": func(what string, list []reverie.TeamItem) teamItems { return teamItems{what, list} },
		"tally": tally, "author": author, "idAndTags": func(m reverie.Memory) []string {
			return append([]string{m.ID},
				m.Tags...)
		},
		"table": func() string { return tableBegins }, "endtable": func() string { return tableEnds },
		"ok": s.Mark, "kindOf": kindOf, "unlessZero": unlessZero, "compact": compact, "changed": changed, "ahead": Ahead,
		"minute": func(t time.Time) string { return t.Format("Mon 2006-01-02 15:04") }, "commas": commas, "times": times,
		"spread": con.spread, "series": con.series, "vectors": vectorText, "lastSupported": lastSupported,
		"windowOf": windowOf, "dreamsListed": dreamsListed, "setback": SetbackText, "remedy": Remedy,
		"saidBy": saidBy, "newestQuotes": newestQuotes, "whyWaiting": whyWaiting,
		"first": first, "more": more, "letPass": LetPass, "covers": covers, "passed": passed,
	}
}
