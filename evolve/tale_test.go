package evolve

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/store/history"
)

// midnight is when the first night of a tale begins, in Shanghai.
var midnight = time.Date(2026, 1, 15, 16, 0, 0, 0, time.UTC)

func night(n int) Request {
	return Request{Since: midnight.Add(time.Duration(n) * day), Until: midnight.Add(time.Duration(n+1) * day)}
}

// rewound is what taking back the runs since a night came to.
type rewound struct {
	Runs, Messages, Restored, Deprecated, Weakened int
	Earliest                                       time.Time
	Left                                           []reverie.UndoLeft
}

func (s *stage) rewind(since time.Time, dry bool) (r rewound) {
	s.Helper()
	h := history.New(s.store.DB())
	back := must(h.Rewindable(s.Context(), s.group, since))(s)
	q := reverie.UndoQuery{GroupID: s.group, Reason: "the prompt was wrong", Requeue: true, Again: true, DryRun: dry}
	var lease reverie.Lease
	if !dry {
		s.now = s.now.Add(time.Minute)
		hold := s.hold()
		defer s.release(hold)
		lease = hold.lease
	}
	if r.Runs = len(back.Runs); back.Earliest != nil {
		r.Earliest = *back.Earliest
	}
	for _, u := range must(h.UndoAll(s.Context(), lease, q, back.Runs))(s) {
		r.Messages += u.Requeued
		r.Restored, r.Deprecated, r.Weakened = r.Restored+u.Restored, r.Deprecated+u.Deprecated, r.Weakened+u.Weakened
		r.Left = append(r.Left, u.Left...)
	}
	return r
}

// on tells one night and evolves it, some hours after its end.
func (s *stage) on(n int, texts ...string) Result {
	s.Helper()
	s.say(night(n).Since.Add(time.Hour), texts...)
	return s.again(n)
}

func (s *stage) again(n int) Result {
	s.Helper()
	s.now = s.now.Add(time.Hour)
	if end := night(n).Until; s.now.Before(end) {
		s.now = end.Add(2 * time.Hour)
	}
	return must(s.run(night(n)))(s)
}

// head is the newest version of the lineage that last said a thing.
func (s *stage) head(statement string) string {
	s.Helper()
	found := s.rows(`select h.memory_id from memories h where h.lineage_id = (
			select lineage_id from memories where group_id = $1 and statement = $2 order by updated_at desc limit 1)
		order by version desc limit 1`, s.group, statement)
	if len(found) != 1 {
		s.Fatalf("nothing says %q", statement)
	}
	return found[0]
}

// edit is a person's.
func (s *stage) edit(action reverie.Action, statement string, value float64) {
	s.Helper()
	s.now = s.now.Add(time.Minute)
	must(s.store.Edit(s.Context(), reverie.Edit{GroupID: s.group, MemoryID: s.head(statement), Action: action, Value: value}))(s)
}

// remembered are the active memories by lineage.
func (s *stage) remembered(columns string) map[string]string {
	s.Helper()
	found := map[string]string{}
	for _, row := range s.rows(`select lineage_id, `+columns+` from memories where group_id = $1 and status = 'active'`, s.group) {
		lineage, rest, _ := strings.Cut(row, "|")
		found[lineage] = rest
	}
	return found
}

const (
	content   = `statement, tags`
	supported = content + `, round(strength::numeric, 9), extract(epoch from last_supported_at)`
)

func sorted(m map[string]string) []string { return slices.Sorted(maps.Values(m)) }

// history counts what may never become less.
func (s *stage) history() (counts []int) {
	s.Helper()
	for _, table := range []string{"memories", "memory_change_log", "memory_evidence", "runs", "run_chunks", "held_plans", "llm_calls", "messages"} {
		counts = append(counts, len(s.rows(`select 1 from `+table)))
	}
	return counts
}

// tale is a random history, and what the group remembered before each night.
type tale struct {
	*stage
	r       *rand.Rand
	nights  int
	late    bool // messages of earlier nights arrive
	approve bool // a person lets pass what is held
	people  bool // edit memories
	before  []map[string]string
	edited  []map[string]bool // after each night: the lineages that a person deleted or restored
}

func (s *tale) tell() {
	s.Helper()
	for n := range s.nights {
		s.before = append(s.before, s.remembered(supported))
		s.evolved(n, s.chat(3+s.r.IntN(5))...)
		if n > 1 && s.late && s.r.IntN(2) == 0 {
			back := s.r.IntN(n)
			s.say(night(back).Since.Add(20*time.Hour), fmt.Sprintf("note Late fact %d.", n), "again "+statements[s.r.IntN(5)])
			s.again(back)
		}
		s.edited = append(s.edited, map[string]bool{})
		if s.people {
			s.meddle(n)
		}
	}
}

func (s *tale) evolved(n int, texts ...string) {
	s.Helper()
	if res := s.on(n, texts...); s.approve && res.Status == reverie.RunHeld {
		s.now = s.now.Add(time.Minute)
		must(s.stage.approve(res.RunID))(s)
	}
}

// chat is what a night's messages say, over few statements, so that they meet.
func (s *tale) chat(lines int) (texts []string) {
	some := func() string {
		if s.r.IntN(2) == 0 {
			return statements[s.r.IntN(len(statements))]
		}
		return fmt.Sprintf("Fact number %d.", s.r.IntN(12))
	}
	for range lines {
		switch word := []string{"note", "note", "note", "change", "change", "drop", "forget", "again", "again"}[s.r.IntN(9)]; word {
		case "change":
			texts = append(texts, "change "+some()+" => "+some())
		default:
			texts = append(texts, word+" "+some())
		}
	}
	return texts
}

// meddle is what a person does after a night.
func (s *tale) meddle(n int) {
	s.Helper()
	for range 2 {
		action := []reverie.Action{reverie.ActionDelete, reverie.ActionRestore, reverie.ActionStrength, reverie.ActionWeight}[s.r.IntN(4)]
		status := map[bool]string{true: "deprecated", false: "active"}[action == reverie.ActionRestore]
		heads := s.rows(`select memory_id, lineage_id from (select distinct on (lineage_id) * from memories order by lineage_id, version desc) h
			where status = $1 order by statement, lineage_id`, status)
		if len(heads) == 0 {
			continue
		}
		id, lineage, _ := strings.Cut(heads[s.r.IntN(len(heads))], "|")
		s.now = s.now.Add(time.Minute)
		_, err := s.store.Edit(s.Context(), reverie.Edit{GroupID: s.group, MemoryID: id, Action: action, Value: s.r.Float64()})
		if err == nil && (action == reverie.ActionDelete || action == reverie.ActionRestore) {
			s.edited[n][lineage] = true
		}
	}
}

// replay evolves all nights with pending messages, oldest first, as it was done
// the first time.
func (s *tale) replay() {
	s.Helper()
	for n := range s.nights {
		if must(s.store.CountPending(s.Context(), s.group, night(n).Since, night(n).Until))(s) > 0 {
			s.evolved(n)
		}
	}
}

func newTale(t *testing.T, seed uint64) *tale {
	return &tale{stage: newStage(t), r: rand.New(rand.NewPCG(seed, 11)), nights: 10, late: seed%4 == 1, approve: seed%4 == 2, people: seed%4 == 3}
}

// TestRewindRandomHistories goes back to nights of random histories: the group
// remembers then what it did before that night, strength and time of support
// included, and the same answers lead to the same end. History only grows.
func TestRewindRandomHistories(t *testing.T) {
	changed := 0
	for _, seed := range []uint64{0, 1, 2, 5} { // those with people: see TestRewindLeavesPeopleTheirSay
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newTale(t, seed)
			s.tell()
			end, history := s.remembered(supported), s.history()
			for _, n := range s.r.Perm(s.nights)[:rounds(3)] {
				dump := s.dump()
				expected := s.rewind(night(n).Since, true)
				if now := s.dump(); !slices.Equal(now, dump) {
					t.Fatalf("night %d: a dry run wrote something", n)
				}
				got := s.rewind(night(n).Since, false)
				changed += got.Restored + got.Deprecated + got.Weakened
				if got.Runs != expected.Runs || got.Messages != expected.Messages || got.Runs == 0 || got.Messages != s.pending() || len(got.Left) > 0 {
					t.Errorf("night %d: %+v, the dry run said %+v; %d messages are pending", n, got, expected, s.pending())
				}
				s.want(`select min(sent_at) from messages where run_id is null`, s.local(got.Earliest))
				if now := s.remembered(supported); !slices.Equal(sorted(now), sorted(s.before[n])) { // lineages of a replay are new
					t.Fatalf("back before night %d:\n got %q\nwant %q", n, sorted(now), sorted(s.before[n]))
				}
				dump = s.dump("leases", "writes")
				again := s.rewind(night(n).Since, false) // it notes that it was done, and no more
				if again.Runs != 0 || again.Messages != 0 || !slices.Equal(s.dump("leases", "writes"), dump) {
					t.Errorf("night %d: the second time it did something: %+v", n, again)
				}
				for i, now := range s.history() {
					if now < history[i] {
						t.Errorf("night %d: history fell from %v to %v", n, history, s.history())
					}
				}
				s.replay()
				history = s.history()
				if s.pending() != 0 {
					t.Fatalf("%d messages are pending after all nights", s.pending())
				}
				if s.late { // what came late was read in its night now
					return
				}
				if now := s.remembered(supported); !slices.Equal(sorted(now), sorted(end)) {
					t.Fatalf("replayed from night %d:\n got %q\nwant %q", n, sorted(now), sorted(end))
				}
				s.wantSound()
				s.wantWithdrawn()
			}
		})
	}
	if changed == 0 {
		t.Error("no rewind had anything to change")
	}
}

// TestRewindLeavesPeopleTheirSay goes back through histories in which persons
// delete, restore and weigh: each memory that no person deleted or restored since
// is as it was, unless another one says the same by now.
func TestRewindLeavesPeopleTheirSay(t *testing.T) {
	kept := 0
	for _, seed := range []uint64{3, 15} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newTale(t, seed)
			s.tell()
			for _, n := range []int{8, 5, 2} {
				was, weights := s.remembered(content), s.remembered(`weight`)
				res := s.rewind(night(n).Since, false)
				now := s.remembered(content)
				kept += len(res.Left)
				edited := map[string]bool{}
				for _, after := range s.edited[n:] {
					maps.Copy(edited, after)
				}
				skipped := map[string]bool{}
				for _, skip := range res.Left {
					skipped[s.rows(`select lineage_id from memories where memory_id = $1`, skip.MemoryID)[0]] = true
				}
				all := maps.Clone(was)
				maps.Copy(all, s.before[n])
				for lineage := range all {
					before, _, _ := strings.Cut(s.before[n][lineage], "}|") // without strength and support
					if before != "" {
						before += "}"
					}
					switch {
					case edited[lineage] || skipped[lineage]:
					case now[lineage] != before:
						t.Errorf("night %d: %q is %q, want %q", n, was[lineage], now[lineage], before)
					}
				}
				for lineage, weight := range s.remembered(`weight`) {
					if weights[lineage] != "" && weights[lineage] != weight {
						t.Errorf("night %d: the weight of %q went from %s to %s", n, now[lineage], weights[lineage], weight)
					}
				}
				s.wantSound()
			}
			s.replay()
			if s.pending() != 0 {
				t.Errorf("%d messages are pending", s.pending())
			}
		})
	}
	if kept == 0 {
		t.Error("no person's edit was in the way of any rewind")
	}
}

// wantSound holds all tables to what must hold between them.
func (s *stage) wantSound() {
	s.Helper()
	s.want(`select lineage_id from memories group by lineage_id having count(*) <> max(version)`)
	s.want(`select m.memory_id from memories m join memories p on p.memory_id = m.parent_id where p.version <> m.version - 1 or p.lineage_id <> m.lineage_id`)
	s.want(`select memory_id from memories where status = 'active' and version < (select max(version) from memories o where o.lineage_id = memories.lineage_id)`)
	s.want(`select memory_id from memories where status = 'deprecated' and ended_at is null`)
	s.want(`select m.message_id from messages m join runs r using (group_id, run_id) where r.undone_at is not null`)
	s.want(`select h.chunk_no from held_plans h join runs r using (group_id, run_id) where h.status = 'waiting' and r.undone_at is not null`)
	s.want(`select run_id from runs where undone_at is not null and status in ('running', 'held')`)
}

// wantWithdrawn is what holds besides where nothing was left as others had made it.
func (s *stage) wantWithdrawn() {
	s.Helper()
	s.want(`select e.evidence_no from memory_evidence e join runs r using (group_id, run_id) where (e.withdrawn_at is null) <> (r.undone_at is null)`)
}
