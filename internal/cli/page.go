package cli

import (
	"embed"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
	"text/template"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

//go:embed templates
var templateFiles embed.FS

// pages are the templates of what is shown to people. A line of a template that has only
// actions, such as if, range and end, is no line of the page. What chats, models and people
// wrote must pass through visible, excerpt or words.
var pages = sync.OnceValue(func() *template.Template {
	actionLine := regexp.MustCompile(`(?m)^[ \t]*((?:\{\{(?:if|else|end|range|with|define|template)\b[^}]*\}\})+)[ \t]*\n`)
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
	if err := t.Funcs(con.pageFuncs()).ExecuteTemplate(con.Stdout, name, data); err != nil {
		return fmt.Errorf("print %s: %w", name, err)
	}
	return nil
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
		"saidBy": saidBy, "newestQuotes": newestQuotes, "whyWaiting": whyWaiting,
		"first": first, "more": more, "letPass": LetPass, "covers": covers, "passed": passed,
	}
}
