package cli

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"reverie/internal/ingest"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// ImportShown is what an import was asked for, as far as its report shows it.
type ImportShown struct {
	Dry                 bool
	Formats, PassedOver []string
}

// PrintChats says what came of an import.
func (con *Console) PrintChats(o ImportShown, res ingest.Result, failed error) error {
	o.Formats = slices.Compact(slices.Sorted(slices.Values(o.Formats)))
	if con.JSON {
		return con.printChatsJSON(o, res, failed)
	}
	if len(o.Formats) == 0 {
		return nil // the error says it all
	}
	verb := ""
	if o.Dry {
		verb = "nothing is written; "
	}
	var err error
	if len(res.Groups) > 1 {
		err = con.printChatTable(o.Dry, res)
	}
	if err == nil && len(res.Groups) != 1 {
		_, err = fmt.Fprintf(con.Stdout, "%s%s, %s: %s\n", verb, strings.Join(o.Formats, ", "),
			Plural(len(res.Groups), "chat"), importCounts(o.Dry, res.Counts, res.Bad))
	} else if err == nil {
		g := res.Groups[0]
		_, err = fmt.Fprintf(con.Stdout, "%s%s: %s%s\n", verb, Visible(g.GroupID), importCounts(o.Dry, res.Counts, res.Bad),
			spanOf(g))
	}
	if err != nil {
		return err
	}
	for _, line := range []struct{ what, text string }{{"filtered", reasons(filterNames(res.Filtered))},
		{"bad", reasons(res.BadBy)}} {
		if line.text != "" {
			fmt.Fprintf(con.Stdout, "%s: %s\n", line.what, line.text)
		}
	}
	if n := len(o.PassedOver); n > 0 {
		fmt.Fprintf(con.Stderr, "%s passed over, which hold no chat that is known: %s\n", Plural(n, "file"),
			fewNames(o.PassedOver, 5))
	}
	return nil
}

func importCounts(dry bool, c ingest.Counts, bad int) string {
	filtered := 0
	for _, n := range c.Filtered {
		filtered += n
	}
	text := Plural(c.Records, "record")
	if !dry {
		text += fmt.Sprintf(", %d new, %d known already", c.New, c.Known)
		if c.Erased > 0 {
			text += fmt.Sprintf(", %d erased before and left out", c.Erased)
		}
	}
	return text + fmt.Sprintf(", %d filtered, %d bad", filtered, bad)
}

// spanOf says from when to when a chat goes.
func spanOf(g *ingest.ChatResult) string {
	if g.First.IsZero() {
		return ""
	}
	return ", " + day(g.First) + " to " + day(g.Last)
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func (con *Console) printChatTable(dry bool, res ingest.Result) error {
	var t Table
	t.Row("GROUP", "CHAT", "RECORDS", "NEW", "KNOWN", "FILTERED", "FROM", "TO")
	for _, g := range res.Groups {
		filtered := 0
		for _, n := range g.Filtered {
			filtered += n
		}
		fresh, known := strconv.Itoa(g.New), strconv.Itoa(g.Known)
		if dry {
			fresh, known = "", ""
		}
		t.Row(Visible(g.GroupID), Visible(text.Excerpt(g.Name, 32)), g.Records, fresh, known, filtered, day(g.First),
			day(g.Last))
	}
	t.Trim("CHAT", "NEW", "KNOWN")
	return t.Write(con.Stdout, con.Style())
}

// reasons lists counts, the greatest first.
func reasons(by map[string]int) string {
	names := slices.SortedFunc(maps.Keys(by), func(a, b string) int {
		if by[a] != by[b] {
			return by[b] - by[a]
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, n := range names {
		parts = append(parts, fmt.Sprintf("%d %s", by[n], Visible(n)))
	}
	return strings.Join(parts, ", ")
}

func filterNames(by map[reverie.Filter]int) map[string]int {
	names := map[string]int{}
	for f, n := range by {
		names[string(f)] = n
	}
	return names
}

// fewNames lists some of many names.
func fewNames(names []string, most int) string {
	rest := ""
	if n := len(names) - most; n > 0 {
		names, rest = names[:most], fmt.Sprintf(" and %d more", n)
	}
	return Visible(strings.Join(names, ", ")) + rest
}

func (con *Console) printChatsJSON(o ImportShown, res ingest.Result, failed error) error {
	doc := struct {
		Success bool     `json:"success"`
		DryRun  bool     `json:"dry_run,omitempty"`
		Formats []string `json:"formats"`
		ingest.Result
		PassedOver []string `json:"passed_over,omitempty"`
	}{failed == nil && res.Bad == 0, o.Dry, o.Formats, res, o.PassedOver}
	return PrintJSON(con.Stdout, doc)
}

// PrintPulled says what came of a pull.
func (con *Console) PrintPulled(dry bool, source string, res ingest.Result, whole bool, failed any) error {
	if !con.JSON {
		return con.PrintChats(ImportShown{Dry: dry, Formats: []string{source}}, res, nil)
	}
	return PrintJSON(con.Stdout, struct {
		Success bool   `json:"success"`
		DryRun  bool   `json:"dry_run,omitempty"`
		Source  string `json:"source"`
		ingest.Result
		Failed any `json:"failed,omitempty"`
	}{whole && res.Bad == 0, dry, source, res, failed})
}
