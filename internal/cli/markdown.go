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

// pageWords are the words of a page of memories, by the language of the group.
var pageWords = map[string]map[string]string{
	"en": {"head": "Memories of the group %s on %s: %d.", "none": "Nothing is remembered yet.",
		"fact": "Facts", "rule": "Rules", "plan": "Plans", "habit": "Habits", "opinion": "Opinions", "culture": "Culture",
		"dream": "From dreams", "session": "From sessions", "team": "From the team",
		"tentative": "said once", "person": "written by %s", "due": "due %s"},
	"zh": {"head": "群 %s 在 %s 的记忆,共 %d 条。", "none": "还没有任何记忆。",
		"fact": "事实", "rule": "规则", "plan": "计划", "habit": "习惯", "opinion": "看法", "culture": "文化",
		"dream": "来自梦境", "session": "来自会话", "team": "来自团队",
		"tentative": "只说过一次", "person": "%s 手写", "due": "日期 %s"},
}

// pageOrder is the order of a page's sections: the types of the group's own memories, then other kinds.
var pageOrder = []string{"rule", "fact", "plan", "habit", "opinion", "culture", "dream", "session", "team"}

// pageQuotes is how many quotes a memory has on a page, the newest.
const pageQuotes = 3

// WriteMarkdown writes a group's memories as a page that people read: a section for each type, and below each
// memory the newest words that it rests on. Dates are the group's.
func WriteMarkdown(w io.Writer, p reverie.MemoryPage, cal jobs.Calendar, today string) error {
	g, list := p.Group, p.Memories
	words := pageWords[g.Language]
	if words == nil {
		words = pageWords["en"]
	}
	out := bufio.NewWriter(w)
	name := g.Name
	if name == "" {
		name = g.ID
	}
	fmt.Fprintf(out, "# %s\n\n"+words["head"]+"\n", escapeMarkdown(name), escapeMarkdown(g.ID), today, len(list))
	if len(list) == 0 {
		fmt.Fprintf(out, "\n%s\n", words["none"])
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
			fmt.Fprintf(out, "\n## %s\n\n", words[s])
		}
		for _, m := range sections[s] {
			notes := []string{cal.Containing(m.SaidAt).Date}
			if m.DueOn != nil {
				notes = append(notes, fmt.Sprintf(words["due"], m.DueOn.Format("2006-01-02")))
			}
			if m.Author != "" {
				notes = append(notes, fmt.Sprintf(words["person"], escapeMarkdown(m.Author)))
			} else if m.Strength < reverie.EstablishedStrength {
				notes = append(notes, words["tentative"])
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

// escapeMarkdown makes one line of a text that Markdown shows as it is.
func escapeMarkdown(s string) string {
	return markdownSigns.ReplaceAllString(strings.Join(strings.Fields(Visible(s)), " "), `\$0`)
}
