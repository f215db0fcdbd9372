package evolve

import (
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
)

// TestRewindBesidePeople goes back to the beginning of a night, over what runs
// did from then on and what a person did at any time.
func TestRewindBesidePeople(t *testing.T) {
	remove, restore, strength, weight := reverie.ActionDelete, reverie.ActionRestore, reverie.ActionStrength, reverie.ActionWeight
	s := newStage(t)
	for name, c := range map[string]struct {
		story func(s *stage)
		since int      // night; 0 means 1
		want  []string // beside Beta, Gamma, Delta and Omega as they were
		left  bool     // something is not as it was
	}{
		"an update": {story: func(s *stage) { s.on(1, "change Alpha. => Alpha two.") },
			want: []string{"Alpha. 0.300 1"}},
		"updates in two nights": {story: func(s *stage) {
			s.on(1, "change Alpha. => Alpha two.")
			s.on(2, "change Alpha two. => Alpha three.")
		}, want: []string{"Alpha. 0.300 1"}},
		"a delete": {story: func(s *stage) { s.on(1, "drop Alpha.") },
			want: []string{"Alpha. 0.300 1"}},
		"a delete after an update": {story: func(s *stage) {
			s.on(1, "change Alpha. => Alpha two.")
			s.on(2, "drop Alpha two.")
		}, want: []string{"Alpha. 0.300 1"}},
		"a create": {story: func(s *stage) { s.on(1, "note New.") },
			want: []string{"Alpha. 0.300 1"}},
		"a recorder of two nights": {story: func(s *stage) {
			s.on(1, "note New.")
			s.on(2, "drop New.")
		}, want: []string{"Alpha. 0.300 1"}},
		"support in two nights": {story: func(s *stage) {
			s.on(1, "again Alpha.")
			s.on(2, "again Alpha.")
		}, want: []string{"Alpha. 0.300 1"}},
		"support of the date it is known for": {since: 2, story: func(s *stage) {
			s.on(1, "again Alpha.")
			s.say(night(0).Since.Add(9*time.Hour), "again Alpha.")
			s.on(2, "small talk")
			s.again(0)
		}, want: []string{"Alpha. 0.510 1"}},
		"support before an update": {story: func(s *stage) {
			s.on(1, "again Alpha.")
			s.on(2, "change Alpha. => Alpha two.")
		}, want: []string{"Alpha. 0.300 1"}},
		"a merge": {story: func(s *stage) {
			s.on(1, "note New.")
			s.on(2, "change Alpha. => New.")
		}, want: []string{"Alpha. 0.300 1"}},
		"a statement that moved": {story: func(s *stage) {
			s.on(1, "change Alpha. => Alpha two.")
			s.on(2, "note Alpha.")
		}, want: []string{"Alpha. 0.300 1"}},

		"deleted before": {story: func(s *stage) {
			s.edit(remove, "Alpha.", 0)
			s.on(1, "note Alpha.")
		}},
		"restored before": {story: func(s *stage) {
			s.edit(remove, "Alpha.", 0)
			s.edit(restore, "Alpha.", 0)
			s.on(1, "change Alpha. => Alpha two.")
		}, want: []string{"Alpha. 0.500 1"}},
		"strengthened before": {story: func(s *stage) {
			s.edit(strength, "Alpha.", 0.8555)
			s.on(1, "again Alpha.")
			s.on(2, "change Alpha. => Alpha two.")
		}, want: []string{"Alpha. 0.856 1"}},
		"strengthened, then supported before": {since: 2, story: func(s *stage) {
			s.edit(strength, "Alpha.", 0.5)
			s.on(1, "again Alpha.")
			s.on(2, "again Alpha.")
		}, want: []string{"Alpha. 0.650 1"}},
		"weakened before": {story: func(s *stage) {
			s.edit(strength, "Alpha.", 0)
			s.on(1, "again Alpha.")
		}, want: []string{"Alpha. 0.000 1"}},

		"deleted after an update": {story: func(s *stage) {
			s.on(1, "change Alpha. => Alpha two.")
			s.edit(remove, "Alpha two.", 0)
		}, left: true},
		"deleted after support": {story: func(s *stage) {
			s.on(1, "again Alpha.")
			s.edit(remove, "Alpha.", 0)
		}},
		"deleted after its creation": {story: func(s *stage) {
			s.on(1, "note New.")
			s.edit(remove, "New.", 0)
		}, want: []string{"Alpha. 0.300 1"}},
		"restored after a delete": {story: func(s *stage) {
			s.on(1, "drop Alpha.")
			s.edit(restore, "Alpha.", 0)
		}, want: []string{"Alpha. 0.500 1"}},
		"restored, then changed again": {story: func(s *stage) {
			s.on(1, "change Alpha. => Alpha two.")
			s.on(2, "drop Alpha two.")
			s.edit(restore, "Alpha two.", 0)
			s.on(3, "change Alpha two. => Alpha three.")
		}, want: []string{"Alpha two. 0.510 1"}, left: true},
		"restored after its short recorder": {story: func(s *stage) {
			s.on(1, "note New.")
			s.on(2, "drop New.")
			s.edit(restore, "New.", 0)
		}, want: []string{"Alpha. 0.300 1", "New. 0.500 1"}, left: true},
		"strengthened between": {story: func(s *stage) {
			s.on(1, "again Alpha.")
			s.edit(strength, "Alpha.", 0.9)
			s.on(2, "again Alpha.")
		}, want: []string{"Alpha. 0.900 1"}},
		"strengthened after an update": {story: func(s *stage) {
			s.on(1, "change Alpha. => Alpha two.")
			s.edit(strength, "Alpha two.", 0.9)
		}, want: []string{"Alpha. 0.900 1"}},
		"strengthened and weighed after its creation": {story: func(s *stage) {
			s.on(1, "note New.")
			s.edit(strength, "New.", 0.9)
			s.edit(weight, "New.", 1.5)
		}, want: []string{"Alpha. 0.300 1"}},
		"weighed after an update": {story: func(s *stage) {
			s.on(1, "change Alpha. => Alpha two.")
			s.edit(weight, "Alpha two.", 1.5)
		}, want: []string{"Alpha. 0.300 1.5"}},
		"weighed after support": {story: func(s *stage) {
			s.on(1, "again Alpha.")
			s.edit(weight, "Alpha.", 1.5)
		}, want: []string{"Alpha. 0.300 1.5"}},

		"a twin restored": {since: 2, story: func(s *stage) {
			s.edit(remove, "Alpha.", 0)
			s.on(1, "note Alpha.")
			s.on(2, "change Alpha. => Alpha two.")
			s.restoreOldest("Alpha.")
		}, want: []string{"Alpha. 0.500 1"}, left: true},
		"a twin restored after a delete": {since: 2, story: func(s *stage) {
			s.edit(remove, "Alpha.", 0)
			s.on(1, "note Alpha.")
			s.on(2, "drop Alpha.")
			s.restoreOldest("Alpha.")
		}, want: []string{"Alpha. 0.500 1"}, left: true},
		"a twin restored and changed": {since: 2, story: func(s *stage) {
			s.edit(remove, "Alpha.", 0)
			s.on(1, "note Alpha.")
			s.on(2, "change Alpha. => Alpha two.")
			s.restoreOldest("Alpha.")
			s.on(3, "change Alpha. => Alpha three.")
		}, want: []string{"Alpha. 0.500 1"}, left: true},
		"approved of an older run": {since: 2, story: func(s *stage) {
			held := s.on(1, "forget Alpha.")
			s.on(2, "small talk")
			must(s.approve(held.RunID))(s)
		}},
		"approved of a run that goes": {story: func(s *stage) {
			held := s.on(1, "forget Alpha.")
			s.on(2, "small talk")
			must(s.approve(held.RunID))(s)
		}, want: []string{"Alpha. 0.300 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s.T, s.group = t, name
			s.addGroup(s.group)
			s.on(0, "note Alpha.", "note Beta.", "note Gamma.", "note Delta.", "note Omega.")
			c.story(s)
			res := s.rewind(night(max(c.since, 1)).Since, false)
			got := s.rows(`select statement || ' ' || round(strength::numeric, 3) || ' ' || weight
				from memories where group_id = $1 and status = 'active' and statement not in ('Beta.', 'Gamma.', 'Delta.', 'Omega.') order by 1`, s.group)
			if !slices.Equal(got, append([]string{}, c.want...)) {
				t.Errorf("active: %q, want %q", got, c.want)
			}
			if left := len(res.Left) > 0; left != c.left {
				t.Errorf("left %v, want %v: %+v", left, c.left, res.Left)
			}
			s.want(`select count(*) from memories where group_id = '`+name+`' and status = 'active' and statement in ('Beta.', 'Gamma.', 'Delta.', 'Omega.') and version = 1 and strength = 0.3`, "4")
			s.want(`select action, old_id is not null, change_summary like '%the prompt was wrong' from memory_change_log
				where group_id = '`+name+`' and action = 'undo' and run_id is null`, slices.Repeat([]string{"undo|true|true"}, res.Restored+res.Deprecated+res.Weakened)...)
			s.wantSound()
		})
	}
}

// restoreOldest restores the oldest memory that ever said a thing.
func (s *stage) restoreOldest(statement string) {
	s.Helper()
	id := s.rows(`select memory_id from memories where group_id = $1 and statement = $2
		order by lineage_id, version desc limit 1`, s.group, statement)[0]
	must(s.store.Edit(s.Context(), reverie.Edit{GroupID: s.group, MemoryID: id, Action: reverie.ActionRestore}))(s)
}

// TestRewindBringsBackAllOfAVersion holds a version that comes back to the one
// it repeats: tags, vector, birth and maker are the same.
func TestRewindBringsBackAllOfAVersion(t *testing.T) {
	s := newStage(t)
	s.on(0, "note Alpha.", "note Beta.", "note Gamma.", "note Delta.")
	s.edit(reverie.ActionDelete, "Delta.", 0)
	s.edit(reverie.ActionRestore, "Delta.", 0) // which counts as support
	for _, statement := range []string{
		`update memories set tags = '{food,"a, b"}' where statement = 'Alpha.'`,
		`update memories set strength = 0.2 where statement = 'Beta.'`, // which no evidence explains
	} {
		if _, err := s.db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	const all = `select statement, tags, kind, content_hash, embedding, embedding_model, run_id, created_at, last_supported_at, strength
		from memories where status = 'active' order by statement`
	before := s.rows(all)
	s.on(1, "change Alpha. => Alpha two.", "drop Beta.", "again Gamma.", "again Delta.")
	s.rewind(night(1).Since, false)
	if after := s.rows(all); !slices.Equal(after, before) || !strings.Contains(before[0], `{food,"a, b"}`) {
		t.Errorf("got %q\nwant %q", after, before)
	}
	s.want(`select change_summary, new_statement, version from memory_change_log where action = 'undo' order by new_statement`,
		"the prompt was wrong|Alpha.|3", "the prompt was wrong|Beta.|2", "strength 0.65 -> 0.50: the prompt was wrong|Delta.|2", "strength 0.51 -> 0.30: the prompt was wrong|Gamma.|1")
}
