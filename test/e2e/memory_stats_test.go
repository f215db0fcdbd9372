package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

// TestMemoryStats counts what was put there, of one group and of all.
func TestMemoryStats(t *testing.T) {
	t.Parallel()
	s := untidy(t)
	s.run("memory", "clean", "--group", "g1", "--tag", "summary", "--yes").want(t, 0)
	s.exec(`update memory_change_log set created_at = now() - interval '28 days'`)
	s.exec(`insert into memory_usage_totals select group_id, lineage_id, 7, 3, 2, now() from memories where statement in ('Bo is ignored', 'They planned a trip')`)
	s.exec(`update memories set embedding = '[1,0]', embedding_model = 'm@2' where statement like 'Lin%'`)
	stats := func(args ...string) reverie.MemoryStats {
		var st reverie.MemoryStats
		o := s.run(append([]string{"memory", "stats", "--json"}, args...)...).want(t, 0).silent(t)
		if err := json.Unmarshal([]byte(o.stdout), &st); err != nil {
			t.Fatal(err)
		}
		return st
	}
	today := func() string { return time.Now().UTC().Format(time.DateOnly) }
	began := today()
	got := stats("--group", "g1")
	if len(got.Days) != 30 || got.Days[29].Changes != 0 || got.Days[29].Date != began && got.Days[29].Date != today() {
		t.Fatalf("the days are %+v", got.Days)
	}
	deleted := got.Days[1] // or the one before, where midnight has just passed
	if deleted.Changes == 0 {
		deleted = got.Days[0]
	}
	if deleted.Changes != 1 || deleted.Actions["delete"] != 1 {
		t.Errorf("the days are %+v", got.Days)
	}
	if got.Oldest == nil || got.Newest == nil {
		t.Error("no age")
	}
	want := reverie.MemoryStats{GroupID: "g1", Groups: 1, Lineages: 6, Versions: 6, Active: 5, Core: 1, Established: 2, Tentative: 3,
		Kinds:    []reverie.KindStats{{Kind: "group", Active: 4, Versions: 4}, {Kind: "session", Active: 1, Deleted: 1, Versions: 2}},
		Strength: []int{0, 0, 2, 1, 0, 0, 0, 0, 0, 2}, Weight: []int{1, 0, 0, 0, 0, 3, 0, 0, 1, 0},
		Vectors:  reverie.VectorStats{Present: 2, Missing: 3, Models: map[string]int{"m@2": 2}},
		Sessions: 1, Usage: reverie.UsageStats{Offered: 16, Referenced: 7, Ignored: 5, Never: 3},
		Used: []reverie.MemoryUsageStats{{GroupID: "g1", MemoryID: s.head("Bo is ignored"), Statement: "Bo is ignored", Offered: 8, Referenced: 4}}}
	got.Days, got.Oldest, got.Newest = nil, nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if all := stats(); all.GroupID != "" || all.Groups != 2 || all.Active != 6 || all.Usage.Never != 4 {
		t.Errorf("all groups: %+v", all)
	}
	o := s.run("memory", "stats", "--group", "g1").want(t, 0).silent(t)
	if !strings.Contains(o.stdout, "standing  1 core, 2 established, 3 tentative\n") || strings.Contains(o.stdout, "\x1b") {
		t.Errorf("stdout is\n%s", o.stdout)
	}
	s.run("memory", "stats", "--group", "nobody").want(t, 1, "groups list")
	s.bring("new")
	if o := s.run("memory", "stats", "--group", "new").want(t, 0); !strings.HasPrefix(o.stdout, "new: no memories: it has no messages to work on") {
		t.Errorf("stdout is %q", o.stdout)
	}
}
