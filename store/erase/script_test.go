package erase

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestScript: every name in the script is a part of it, or a value that somebody gives; a step does one thing,
// to a table whose columns are known.
func TestScript(t *testing.T) {
	known := map[string]bool{}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(types)), slices.Collect(maps.Keys(script.Parts)),
		[]string{"gone", "mixed", "touched", "emptied_runs", "changed", "ending", "shared", "stay_away"}) {
		known[name] = true
	}
	tables := map[string]bool{"": true, "memory_values": true, "memory_sources": true, "memory_usage_totals": true}
	for name := range Columns {
		table, _, _ := strings.Cut(name, ".")
		tables[table] = true
	}
	texts := slices.Concat(slices.Collect(maps.Values(script.Queries)), slices.Collect(maps.Values(script.Parts)),
		slices.Collect(maps.Values(script.Team)))
	for phase, steps := range script.Phases {
		for i, s := range steps {
			known[s.Find], texts = true, append(texts, s.SQL)
			ways := 0
			for _, way := range []string{s.Delete, s.Change, s.Deleted, s.Changed, s.Find} {
				if way != "" {
					ways++
				}
			}
			if ways > 1 || s.SQL == "" || !tables[s.Delete] || !tables[s.Change] || !tables[s.Deleted] || !tables[s.Changed] || !tables[s.Counts] {
				t.Errorf("step %d of %s: %+v", i+1, phase, s)
			}
		}
	}
	for _, sql := range texts {
		for _, name := range scriptName.FindAllStringSubmatch(sql, -1) {
			if !known[name[1]] {
				t.Errorf("nobody gives %s: %s", name[0], sql)
			}
		}
	}
}
