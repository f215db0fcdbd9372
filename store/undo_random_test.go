package store_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// saga is the random history of one group: runs of all jobs, persons, and a clock that
// stands still at times, or goes back.
type saga struct {
	parts
	t      *testing.T
	db     *sql.DB
	now    *time.Time
	r      *rand.Rand
	group  string
	lease  reverie.Lease
	people bool
	words  []string // few, so that they meet
	sent   int

	past  []instant         // the group's past, as it was seen
	wrote map[string]string // of each run: the hash before it
	runs  []string          // in order
	rows  map[string]bool   // of memories and the change log, ever seen
}

// instant is what was active then.
type instant struct {
	at   time.Time
	hash string
}

// sagas opens a database for many histories.
func sagas(t *testing.T) func(t *testing.T, seed uint64) *saga {
	now := noon
	s := pgtest.Open(t, pg.Options{Now: func() time.Time { return now }})
	db := raw(t)
	return func(t *testing.T, seed uint64) *saga {
		id := fmt.Sprintf("saga %d", seed)
		now = noon
		must(s.EnsureGroup(t.Context(), reverie.Group{ID: id, TimeZone: "Canada/Newfoundland"}))(t)
		lease := must(s.AcquireLease(t.Context(), id, reverie.LeaseGroup, "host:1:a", time.Hour))(t)
		return &saga{parts: partsOf(s), t: t, db: db, now: &now, r: rand.New(rand.NewPCG(seed, 3)), group: id, lease: lease, people: seed%2 == 1,
			words: []string{"喝茶", "tea", "likes 上海", "C#", "3.5", "on Monday"}, wrote: map[string]string{}, rows: map[string]bool{}}
	}
}

func (s *saga) active() []reverie.Memory {
	s.t.Helper()
	list, _, err := s.ListMemories(s.t.Context(), reverie.MemoryQuery{GroupID: s.group, Status: reverie.StatusActive})
	check(s.t, err)
	return list
}

// free is a word that no active memory of a kind says, nor any step so far.
func (s *saga) free(kind reverie.Kind, heads []reverie.Memory, steps []reverie.Step) string {
	taken := map[string]bool{}
	for _, m := range heads {
		taken[m.Statement] = taken[m.Statement] || m.Kind == kind
	}
	for _, st := range steps {
		taken[st.Statement] = true
	}
	words := slices.DeleteFunc(slices.Clone(s.words), func(w string) bool { return taken[w] })
	if len(words) == 0 {
		return reverie.NewID()
	}
	return words[s.r.IntN(len(words))]
}

// steps are what a run does to memories of a kind, and to some of the others.
func (s *saga) steps(kind reverie.Kind) (steps []reverie.Step) {
	heads := s.active()
	for _, i := range s.r.Perm(len(heads)) {
		m := heads[i]
		if m.Kind != kind || len(steps) == 3 {
			continue
		}
		var st reverie.Step
		switch s.r.IntN(6) {
		case 0:
			st = remove(m, "gone")
		case 5: // its tags alone
			st = update(m, m.Statement)
		case 1, 2:
			st = update(m, s.free(kind, heads, steps))
		case 3:
			st = support(m, fmt.Sprintf("2026-01-%02d", 1+s.r.IntN(28)), min(1, m.Strength+0.1))
		default:
			continue
		}
		steps = append(steps, s.dressed(st, heads))
	}
	for range s.r.IntN(3) {
		stay := slices.DeleteFunc(slices.Clone(heads), func(m reverie.Memory) bool {
			return slices.ContainsFunc(steps, func(st reverie.Step) bool { return st.LineageID == m.LineageID })
		})
		steps = append(steps, s.dressed(create(s.free(kind, heads, steps)), stay))
	}
	return steps
}

// dressed gives a step tags, and memories that it rests on.
func (s *saga) dressed(st reverie.Step, heads []reverie.Memory) reverie.Step {
	st.Embedding, st.EmbeddingModel = nil, ""
	if st.Action != reverie.ActionDelete && st.Action != reverie.ActionKeep {
		st.Tags = [][]string{nil, {}, {"food"}, {"出行", "a, b"}}[s.r.IntN(4)]
	}
	if st.Action == reverie.ActionCreate && len(heads) > 0 && s.r.IntN(2) == 0 {
		st = on(st, heads[s.r.IntN(len(heads))])
	}
	return st
}

func (s *saga) message(session string) string {
	s.sent++
	m := reverie.Message{ID: fmt.Sprint("m", s.sent), AuthorID: "u1", Author: "小明", Role: reverie.RoleUser, Text: "hello", SessionID: session,
		SentAt: noon.Add(time.Duration(s.sent) * time.Minute)}
	must(s.ImportMessages(s.t.Context(), s.group, []reverie.Message{m}))(s.t)
	return m.ID
}

// begin starts a run of a job, which knows what was active before it.
func (s *saga) begin(job reverie.Job, session string) reverie.Run {
	s.t.Helper()
	run := must(s.StartRun(s.t.Context(), s.lease, reverie.Run{Job: job, SessionID: session, WindowSince: noon, WindowUntil: noon.Add(time.Hour)}))(s.t)
	s.wrote[run.ID] = reverie.ActiveSHA256(s.active())
	s.runs = append(s.runs, run.ID)
	return run
}

// apply has a run of a job write a plan, held whole and approved at times.
func (s *saga) apply(job reverie.Job) (run string) {
	s.t.Helper()
	kind := map[reverie.Job]reverie.Kind{reverie.JobEvolve: reverie.KindGroup, reverie.JobExtract: reverie.KindSession, reverie.JobDream: reverie.KindDream}[job]
	plan := reverie.Plan{GroupID: s.group, ChunkNo: 1, Kind: kind}
	chunk := reverie.Chunk{No: 1, InputSHA256: "in", Answer: "{}", Status: reverie.ChunkAnswered}
	session := ""
	switch job {
	case reverie.JobEvolve:
		chunk.MessageIDs = []string{s.message("")}
		plan.Outcomes = map[string]reverie.Outcome{chunk.MessageIDs[0]: reverie.OutcomeCited}
	case reverie.JobExtract:
		session = fmt.Sprint("s", s.r.IntN(2))
		chunk.MessageIDs = []string{s.message(session)}
		plan.SessionID, plan.Used = session, chunk.MessageIDs
	case reverie.JobDream:
		material := must(s.GatherDream(s.t.Context(), reverie.DreamQuery{GroupID: s.group}))(s.t).Material
		if len(material) == 0 {
			return s.apply(reverie.JobEvolve)
		}
		for _, m := range material {
			chunk.MemoryIDs = append(chunk.MemoryIDs, m.ID)
		}
		plan.Dream = &reverie.DreamUse{MemoryIDs: chunk.MemoryIDs}
	}
	run = s.begin(job, session).ID
	plan.RunID, chunk.RunID = run, run
	check(s.t, s.SaveChunk(s.t.Context(), s.lease, chunk))
	plan.Steps = s.steps(kind)
	if len(plan.Steps) > 0 && job == reverie.JobEvolve && s.r.IntN(4) == 0 {
		plan.Held, plan.Steps, plan.HeldAll = plan.Steps, nil, true
	}
	must(s.Apply(s.t.Context(), s.lease, plan))(s.t)
	status := reverie.RunSucceeded
	if plan.HeldAll {
		status = reverie.RunHeld
	}
	if s.r.IntN(8) > 0 { // else its process dies
		must(s.FinishRun(s.t.Context(), s.lease, reverie.Run{ID: run, SessionID: session, Status: status}))(s.t)
		if plan.HeldAll && s.r.IntN(2) == 0 {
			held := reverie.HeldPlan{GroupID: s.group, RunID: run, ChunkNo: 1, Kind: kind}
			must(s.ApplyHeld(s.t.Context(), s.lease, held, plan.Held, nil))(s.t)
		}
	}
	return run
}

// archive has time tell on a memory.
func (s *saga) archive() (run string) {
	s.t.Helper()
	run = s.begin(reverie.JobMaintain, "").ID
	if heads := s.active(); len(heads) > 0 {
		m := heads[s.r.IntN(len(heads))]
		_, _, err := s.Fade(s.t.Context(), s.lease, reverie.Run{GroupID: s.group, ID: run}, []reverie.Fading{{HeadState: reverie.HeadState{Memory: m}, Reason: "weak"}})
		check(s.t, err)
	}
	return run
}

// meddle is what a person does.
func (s *saga) meddle() {
	action := []reverie.Action{reverie.ActionDelete, reverie.ActionRestore, reverie.ActionStrength, reverie.ActionWeight}[s.r.IntN(4)]
	heads := pgtest.Rows(s.t, s.db, `select memory_id from (select distinct on (lineage_id) * from memories where group_id = $1
		order by lineage_id, version desc) h order by statement, lineage_id`, s.group)
	if len(heads) > 0 {
		_, _ = s.Edit(s.t.Context(), reverie.Edit{GroupID: s.group, MemoryID: heads[s.r.IntN(len(heads))], Action: action, Value: s.r.Float64()})
	}
}

// tick moves the clock: on, or not, or back.
func (s *saga) tick() {
	*s.now = s.now.Add([]time.Duration{0, 0, time.Hour, 24 * time.Hour, -30 * time.Minute}[s.r.IntN(5)])
}

// see notes what is active, and holds history to growing.
func (s *saga) see() {
	s.t.Helper()
	rows := map[string]bool{}
	for _, row := range pgtest.Rows(s.t, s.db, `select memory_id::text, statement, version::text, tags::text, coalesce(run_id::text, ''), updated_at::text from memories where group_id = $1
		union all select change_id::text, old_statement, action, new_statement, coalesce(run_id::text, ''), created_at::text from memory_change_log where group_id = $1`, s.group) {
		rows[row] = true
	}
	for row := range s.rows {
		if !rows[row] {
			s.t.Fatalf("gone from history: %s", row)
		}
	}
	s.rows = rows
	at := must(time.Parse(time.RFC3339Nano, pgtest.Rows(s.t, s.db, `select to_char(coalesce(max(created_at), 'epoch') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
		from memory_change_log where group_id = $1`, s.group)[0]))(s.t)
	s.past = append(s.past, instant{at, reverie.ActiveSHA256(s.active())})
}

func (s *saga) hash() string { return s.past[len(s.past)-1].hash }

// undo takes a run back, as a dry run has said, and holds the result to the tables.
func (s *saga) undo(run string, force, requeue bool) reverie.Undone {
	s.t.Helper()
	q := reverie.UndoQuery{GroupID: s.group, RunID: run, Force: force, Requeue: requeue, Reason: "wrong", DryRun: true}
	before := s.hash()
	said := must(s.Undo(s.t.Context(), reverie.Lease{}, q))(s.t)
	if now := reverie.ActiveSHA256(s.active()); now != before {
		s.t.Fatal("a dry run changed what is active")
	}
	q.DryRun = false
	did := must(s.Undo(s.t.Context(), s.lease, q))(s.t)
	s.runs = slices.DeleteFunc(s.runs, func(id string) bool { return id == run })
	s.see()
	if did.Before != before || did.After != s.hash() || said.After != did.After || said.Exact != did.Exact || len(said.Left) != len(did.Left) {
		s.t.Fatalf("said %+v, did %+v; active were %s and are %s", said, did, before, s.hash())
	}
	if did.Restored+did.Deprecated > 0 && did.Was != s.wrote[run] { // of support alone nothing is told
		s.t.Fatalf("before the run was %s, not %s", s.wrote[run], did.Was)
	}
	if force {
		for _, l := range did.Left {
			if strings.Contains(l.Reason, " since") && !strings.Contains(l.Reason, "meanwhile") {
				s.t.Fatalf("left in spite of force: %+v", l)
			}
		}
	}
	return did
}

// act is one thing that happens; what a run has just done goes back at times, to the
// state before it.
func (s *saga) act() {
	s.t.Helper()
	s.tick()
	run := ""
	switch n := s.r.IntN(10); {
	case n < 4:
		run = s.apply(reverie.JobEvolve)
	case n < 5:
		run = s.apply(reverie.JobExtract)
	case n < 6:
		run = s.apply(reverie.JobDream)
	case n < 7:
		run = s.archive()
	case n < 8 && len(s.runs) > 0:
		s.undo(s.runs[s.r.IntN(len(s.runs))], s.r.IntN(3) == 0, s.r.IntN(3) == 0)
		return
	case s.people:
		s.meddle()
	}
	s.see()
	if run == "" || s.r.IntN(3) > 0 {
		return
	}
	before := s.wrote[run]
	s.tick()
	if res := s.undo(run, s.r.IntN(2) == 0, s.r.IntN(2) == 0); s.hash() != before || !res.Nothing && !res.Exact {
		s.t.Fatalf("the last run was taken back, and %s is active, not %s: %+v", s.hash(), before, res)
	}
}

// TestUndoRandomHistories: after undo of the last run what is active is what was before
// it; history only grows; the past of every instant is what was seen then; and all runs
// undone, the newest first, leave nothing where no person had a say. 1,000 histories
// with REVERIE_TEST_THOROUGH.
func TestUndoRandomHistories(t *testing.T) {
	histories := uint64(8)
	if os.Getenv("REVERIE_TEST_THOROUGH") != "" {
		histories = 1000
	}
	open := sagas(t)
	for seed := range histories {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := open(t, seed)
			s.see()
			for range 12 {
				s.act()
			}
			for len(s.runs) > 0 {
				s.tick()
				s.undo(s.runs[len(s.runs)-1], s.people && seed%4 == 3, seed%3 == 0)
			}
			if left := s.active(); !s.people && len(left) > 0 {
				t.Errorf("all is undone, and %q is active", left[0].Statement)
			}
			s.wantSound()
		})
	}
}

// wantSound holds the tables to what must hold between them, and to the past as it was
// seen.
func (s *saga) wantSound() {
	s.t.Helper()
	seen := map[time.Time]string{}
	for _, p := range s.past { // of several at one instant nothing happened between
		if was, ok := seen[p.at]; ok && was != p.hash {
			s.t.Errorf("two states at %s", p.at)
		}
		seen[p.at] = p.hash
	}
	for at, hash := range seen {
		list, _, err := s.ListMemories(s.t.Context(), reverie.MemoryQuery{GroupID: s.group, At: at, Recorded: true})
		check(s.t, err)
		for i := range list {
			list[i].Status = reverie.StatusActive
		}
		if got := reverie.ActiveSHA256(list); got != hash {
			s.t.Errorf("at %s %s was active, and %s is told", at, hash, got)
		}
	}
	pgtest.Sound(s.t, s.Store, s.group, "counts of changes add up") // the runs here do not count
}
