package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
)

// conversation is n messages of a group, every minute one, and after each 40 an
// hour of silence: users, an assistant that answers every third of them, and tools.
func conversation(n int, session func(i int) string) []reverie.Message {
	list := make([]reverie.Message, n)
	at := noon.AddDate(-1, 0, 0)
	for i := range list {
		at = at.Add(time.Minute)
		if i%40 == 0 {
			at = at.Add(time.Hour)
		}
		role := []reverie.Role{reverie.RoleUser, reverie.RoleUser, reverie.RoleUser, reverie.RoleTool, reverie.RoleAssistant}[i%5]
		list[i] = reverie.Message{ID: fmt.Sprintf("c%06d", i), AuthorID: "u1", Author: "小明", Role: role, SentAt: at, SessionID: session(i),
			Text: "昨天我们说好周五一起去爬山，记得带上水和外套。 See you at the station at half past seven"}
	}
	return list
}

// BenchmarkImport imports 20,000 messages in batches: in sessions that silence
// cuts, in one of 200 each that they name, all in one, and all in one with the
// newest first.
func BenchmarkImport(b *testing.B) {
	sessions := map[string]func(int) string{
		"cut": func(int) string { return "" }, "named": func(i int) string { return fmt.Sprint("s", i/200) }, "one": func(int) string { return "s" }, "newest": func(int) string { return "s" },
	}
	for _, name := range []string{"cut", "named", "newest", "one"} {
		b.Run(name, func(b *testing.B) {
			list := conversation(20000, sessions[name])
			if name == "newest" {
				slices.Reverse(list)
			}
			w := openWorld(b, pg.Options{})
			for i := 0; b.Loop(); i++ {
				id := fmt.Sprint("import", i)
				w.ensure(id)
				for at := 0; at < len(list); at += store.MaxImport {
					must(w.ImportMessages(b.Context(), id, list[at:at+store.MaxImport]))(b)
				}
			}
		})
	}
}
