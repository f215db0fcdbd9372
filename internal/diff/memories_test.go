package diff_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"reverie/internal/diff"
	"reverie/internal/reverie"
)

var from = time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC)

// v is a version of a lineage, from one hour after from to another; 99 is for ever.
func v(lineage string, version, since, until int, statement string, tags ...string) reverie.Memory {
	m := reverie.Memory{LineageID: lineage, ID: fmt.Sprint(lineage, version), Version: version, Kind: reverie.KindGroup, Statement: statement, Tags: tags,
		Status: reverie.StatusActive, CreatedAt: from.Add(-time.Hour), UpdatedAt: from.Add(time.Duration(since) * time.Hour)}
	if until != 99 {
		end := from.Add(time.Duration(until) * time.Hour)
		m.Status, m.EndedAt = reverie.StatusDeprecated, &end
	}
	return m
}

// TestMemories compares two instants that are ten hours apart.
func TestMemories(t *testing.T) {
	deleted := map[string]reverie.DiffStep{"a1": {Action: reverie.ActionDelete, RunID: "r"}}
	for name, c := range map[string]struct {
		versions []reverie.Memory
		ended    map[string]reverie.DiffStep
		want     string
	}{
		"added":                     {[]reverie.Memory{v("a", 1, 5, 99, "tea")}, nil, "added tea made@5"},
		"added at the very end":     {[]reverie.Memory{v("a", 1, 10, 99, "tea")}, nil, "added tea made@10"},
		"added and rewritten":       {[]reverie.Memory{v("a", 1, 5, 6, "tea"), v("a", 2, 6, 99, "coffee")}, nil, "added coffee made@5 made@6"},
		"changed":                   {[]reverie.Memory{v("a", 1, -1, 6, "likes tea"), v("a", 2, 6, 99, "likes coffee")}, nil, "changed likes [-tea-]{+coffee+} made@6"},
		"changed in its tags":       {[]reverie.Memory{v("a", 1, -1, 6, "tea", "x"), v("a", 2, 6, 99, "tea", "y")}, nil, "changed tags x to y made@6"},
		"changed before and after":  {[]reverie.Memory{v("a", 1, -9, 0, "tea"), v("a", 2, 0, 11, "milk"), v("a", 3, 11, 99, "coffee")}, nil, ""},
		"changed and changed back":  {[]reverie.Memory{v("a", 1, -1, 3, "tea"), v("a", 2, 3, 6, "milk"), v("a", 3, 6, 99, "tea")}, nil, "passing tea made@3 made@6"},
		"gone":                      {[]reverie.Memory{v("a", 1, -1, 4, "tea")}, deleted, "gone tea delete@4"},
		"gone at the very end":      {[]reverie.Memory{v("a", 1, -1, 10, "tea")}, deleted, "gone tea delete@10"},
		"gone at the beginning":     {[]reverie.Memory{v("a", 1, -1, 0, "tea")}, deleted, ""},
		"held":                      {[]reverie.Memory{v("a", 1, -1, 4, "tea")}, nil, "gone tea hold@4"},
		"came and went":             {[]reverie.Memory{v("a", 1, 3, 4, "tea")}, deleted, "passing tea made@3 delete@4"},
		"never told":                {[]reverie.Memory{v("a", 1, 3, 3, "tea")}, nil, ""},
		"restored from before":      {[]reverie.Memory{v("a", 2, 5, 99, "tea")}, nil, "added tea back made@5"},
		"gone and restored":         {[]reverie.Memory{v("a", 1, -1, 3, "tea"), v("a", 2, 6, 99, "tea")}, deleted, "passing tea delete@3 made@6"},
		"held and back, reworded":   {[]reverie.Memory{v("a", 1, -1, 3, "茶"), v("a", 2, 6, 99, "咖啡")}, nil, "changed [-茶-]{+咖啡+} hold@3 made@6"},
		"two, in their order":       {[]reverie.Memory{v("b", 1, 5, 99, "tea"), v("a", 1, 5, 99, "milk")}, nil, "added tea made@5; added milk made@5"},
		"some microseconds between": {[]reverie.Memory{v("a", 1, -1, 4, "tea"), late(v("a", 2, 4, 4, "tea"))}, nil, "gone tea made@4"}, // a team's deletion is a version
	} {
		b := reverie.Between{BetweenQuery: reverie.BetweenQuery{GroupID: "g1", From: from, To: from.Add(10 * time.Hour)}, Active: 7, Versions: c.versions,
			Ended: c.ended, Made: map[string]reverie.DiffStep{}}
		for i, m := range c.versions {
			for _, first := range c.versions {
				if first.LineageID == m.LineageID && first.Version == 1 {
					c.versions[i].CreatedAt = first.UpdatedAt
				}
			}
			b.Made[m.ID] = reverie.DiffStep{Action: "made"}
		}
		d := diff.Memories(b)
		if got := told(d); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if n := d.Counts; n.Added != len(d.Added) || n.Changed != len(d.Changed) || n.Gone != len(d.Gone) || n.Unchanged != 7-n.Added-n.Changed {
			t.Errorf("%s: counts %+v", name, n)
		}
	}
}

// late is a version whose time was taken a moment later than that of the one before.
func late(m reverie.Memory) reverie.Memory {
	m.UpdatedAt = m.UpdatedAt.Add(3 * time.Microsecond)
	m.EndedAt = &m.UpdatedAt
	return m
}

func told(d reverie.MemoryDiff) string {
	var parts []string
	add := func(what string, list []reverie.DiffEntry, text func(e reverie.DiffEntry) string) {
		for _, e := range list {
			s := what + " " + text(e)
			for _, st := range e.Steps {
				s += fmt.Sprintf(" %s@%d", st.Action, int(st.At.Sub(from).Hours()))
			}
			parts = append(parts, s)
		}
	}
	add("added", d.Added, func(e reverie.DiffEntry) string {
		if e.Back {
			return e.After.Statement + " back"
		}
		return e.After.Statement
	})
	add("changed", d.Changed, func(e reverie.DiffEntry) string {
		if e.Marked == "" {
			return "tags " + strings.Join(e.Before.Tags, ",") + " to " + strings.Join(e.After.Tags, ",")
		}
		return e.Marked
	})
	add("gone", d.Gone, func(e reverie.DiffEntry) string { return e.Before.Statement })
	add("passing", d.Passing, func(e reverie.DiffEntry) string { return e.Before.Statement })
	return strings.Join(parts, "; ")
}
