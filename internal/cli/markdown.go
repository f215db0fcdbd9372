package cli

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/jobs"
)

// pageOrder is the order of a page's sections: types of the group's memories, then other kinds.
var pageOrder = []string{"rule", "fact", "plan", "habit", "opinion", "culture", "dream", "session", "team"}

// pageQuotes is the maximum number of quotes of a memory on a page; it shows the newest.
const pageQuotes = 3

// WriteMarkdown writes a group's memories as a page for people: a section for each type, and below each memory its
// newest quotes. Dates are the group's.
func WriteMarkdown(w io.Writer, p reverie.MemoryPage, cal jobs.Calendar, today string) error {
	g, list := p.Group, p.Memories
	said := words().Page[g.Language]
	if said == nil {
		said = words().Page["en"]
	}
	out := bufio.NewWriter(w)
	name := g.Name
	if name == "" {
		name = g.ID
	}
	fmt.Fprintf(out, "# %s\n\n"+said["head"]+"\n", escapeMarkdown(name), escapeMarkdown(g.ID), today, len(list))
	if len(list) == 0 {
		fmt.Fprintf(out, "\n%s\n", said["none"])
	}
	sections := map[string][]reverie.Memory{}
	for _, m := range list {
		s := string(m.Type)
		if m.Kind != reverie.KindGroup {
			s = string(m.Kind)
		}
		sections[s] = append(sections[s], m)
	}
	for _, s := range pageOrder {
		if len(sections[s]) > 0 {
			fmt.Fprintf(out, "\n## %s\n\n", said[s])
		}
		for _, m := range sections[s] {
			notes := []string{cal.Containing(m.SaidAt).Date}
			if m.DueOn != nil {
				notes = append(notes, fmt.Sprintf(said["due"], m.DueOn.Format("2006-01-02")))
			}
			if m.Author != "" {
				notes = append(notes, fmt.Sprintf(said["person"], escapeMarkdown(m.Author)))
			} else if m.Strength < reverie.EstablishedStrength {
				notes = append(notes, said["tentative"])
			}
			fmt.Fprintf(out, "- %s (%s)\n", escapeMarkdown(m.Statement), strings.Join(notes, ", "))
			quotes := p.Evidence[m.LineageID]
			for _, e := range quotes[max(0, len(quotes)-pageQuotes):] {
				if e.Quote != "" {
					fmt.Fprintf(out, "  - %s, %s: “%s”\n", escapeMarkdown(e.Author), e.LocalDate, escapeMarkdown(e.Quote))
				}
			}
		}
	}
	return out.Flush()
}

var markdownSigns = text.NewPattern("[\\\\`*_{}\\[\\]<>#|~&]")

// escapeMarkdown returns a text as one line that Markdown shows unchanged.
func escapeMarkdown(s string) string {
	return markdownSigns.ReplaceAllString(strings.Join(strings.Fields(Visible(s)), " "), `\$0`)
}
