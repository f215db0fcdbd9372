package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/jobs"
)

// printDream prints a page as it would go to a file of so many columns.
func printDream(t *testing.T, d reverie.Dream, columns int) string {
	t.Helper()
	cal, err := jobs.CalendarOf(d.Group)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	con := &Console{Stdout: &b, Columns: columns}
	if err := con.PrintDreams(d, cal); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// dreamItem is an item of a page: it rests on the sources that are named, and on
// two messages for each.
func dreamItem(statement string, sort reverie.DreamType, sources ...reverie.SourceMemory) reverie.DreamItem {
	at := time.Date(2026, 2, 9, 17, 0, 0, 0, time.UTC) // in Shanghai the next day
	return reverie.DreamItem{
		Memory: reverie.Memory{
			ID:        "id-of-" + string(sort),
			Kind:      reverie.KindDream,
			Statement: statement,
			Strength:  0.51,
			UpdatedAt: at,
		},
		Type:     sort,
		Evidence: 2 * len(sources),
		Sources:  sources,
	}
}

func dreamSource(day int, kind reverie.Kind, summary bool, statement string) reverie.SourceMemory {
	return reverie.SourceMemory{
		MemoryID:  fmt.Sprint("id-", day),
		Kind:      kind,
		Summary:   summary,
		Statement: statement,
		Active:    true,
		At:        time.Date(2026, 2, day, 22, 30, 0, 0, time.UTC),
	}
}

// someDream is a page with something in each of its parts.
func someDream() reverie.Dream {
	ended := time.Date(2026, 2, 11, 20, 0, 0, 0, time.UTC)
	trip := dreamSource(
		9,
		reverie.KindSession,
		true,
		"Maya planned her trip from Lisbon to the meetup in Porto, and the bot booked the train of 07:30 for her and for 小满.",
	)
	train := dreamSource(9, reverie.KindSession, false, "Maya prefers trains to planes.")
	gone := dreamSource(7, reverie.KindGroup, false, "外拍胶卷统一用金200，便宜又好买，老K 负责团购，每人先交五十块，多退少补，月底之前在群里接龙登记。")
	gone.Active = false
	ritual := dreamSource(5, reverie.KindGroup, false, "Everybody posts a picture of breakfast.")
	narrative := dreamItem(
		"In February the group got ready for its meetup in Porto: the train is booked, the zine is nearly laid out, and breakfast is still posted every morning.",
		"",
		trip,
		train,
		ritual,
	)
	done := dreamItem("Ines has sent the flat files to the printer.", reverie.DreamTodo, trip)
	done.Done = true
	return reverie.Dream{Group: reverie.Group{ID: "demo", Name: "半格 Half Frame", TimeZone: "Asia/Shanghai"},
		Run: &reverie.Run{
			ID:         "id-of-run",
			Status:     reverie.RunSucceeded,
			SessionID:  "trip",
			FinishedAt: &ended,
			Stats:      reverie.Stats{Sessions: 3, Material: 9},
		},
		Narrative: &narrative,
		Items: []reverie.DreamItem{
			dreamItem(
				"Maya travels by train, at the window, and wants nothing with peanuts in it.",
				reverie.DreamPreference,
				train,
				trip,
				ritual,
				gone,
				ritual,
			),
			dreamItem("小满晕船，出门只坐火车，不坐船，订票之前先问一声她要不要靠过道的位置。", reverie.DreamPreference, trip),
			dreamItem("Early mornings: breakfast, and trains that leave before eight.", reverie.DreamTheme, ritual, gone),
			dreamItem("Maya still has to be in Porto by noon on 21 February 2026.", reverie.DreamTodo, trip, train),
			done,
		}}
}

func TestDreamPage(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	page := func(what string, columns int, d reverie.Dream) {
		fmt.Fprintf(&text, "--- %s, %d columns\n%s", what, columns, printDream(t, d, columns))
	}
	page("as most see it", 80, someDream())
	page("in a narrow window", 34, someDream())

	held := someDream()
	earlier := "id-of-an-earlier-run"
	held.Run.Status, held.Narrative.RunID, held.Items = reverie.RunHeld, &earlier, held.Items[:1]
	held.Waiting = []reverie.Run{{ID: "id-of-run", FinishedAt: held.Run.FinishedAt}}
	page("held", 80, held)

	rejected := someDream()
	rejected.Run = &reverie.Run{
		Status:     reverie.RunRejected,
		FinishedAt: held.Run.FinishedAt,
		Stats:      reverie.Stats{Material: 1},
	}
	rejected.Group, rejected.Narrative, rejected.Items = reverie.Group{ID: "g1"}, nil, nil
	page("rejected, of memories of the group alone", 80, rejected)

	rejected.Run.Stats, rejected.Gone = reverie.Stats{}, true
	page("rejected and new again, and what was before has faded", 80, rejected)

	hostile := someDream()
	hostile.Group.Name, hostile.Run.SessionID = "\x1b]0;owned\a half\nframe", "s\x1b[2J"
	hostile.Narrative = nil
	odd := dreamItem(
		"\x1b[31mred\u202e and\r\nbroken",
		"",
		dreamSource(5, reverie.KindTeam, false, "\x1b[1m\n"+strings.Repeat("a", 90)),
	)
	hostile.Items = []reverie.DreamItem{odd}
	page("hostile", 80, hostile)
	want, err := os.ReadFile("testdata/dream_page.txt")
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, text.String(), string(want))
}

// TestDreamPageFits: no line is wider than the window, but those that are commands,
// and the words stay whole.
func TestDreamPageFits(t *testing.T) {
	t.Parallel()
	for columns := 20; columns <= 100; columns += 5 {
		page := printDream(t, someDream(), columns)
		for line := range strings.Lines(page) {
			if w := Width(strings.TrimRight(line, "\n")); w > columns {
				t.Errorf("in %d columns a line has %d: %q", columns, w, line)
			}
		}
		text := strings.Join(strings.Fields(page), "")
		for _, item := range someDream().Items {
			if !strings.Contains(text, strings.Join(strings.Fields(item.Statement), "")) {
				t.Errorf("in %d columns %q is lost:\n%s", columns, item.Statement, page)
			}
		}
	}
}
