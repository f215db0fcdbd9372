package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

// The same messages make the same sessions, with the same counts, in whatever order
// and batches they arrive; and what is counted is what the rows say at any time.
func TestImportOrderDoesNotMatter(t *testing.T) {
	w := newWorld(t)
	r := rand.New(rand.NewPCG(8, 8))
	var list []reverie.Message
	minute := 0
	for i := range 60 {
		minute += []int{1, 2, 5, 29, 31, 200}[r.IntN(6)]
		list = append(list, line(fmt.Sprintf("m%02d", i), []string{"", "", "", "a", "b"}[r.IntN(5)], []string{"user", "user", "assistant", "tool"}[r.IntN(4)], minute))
	}
	var first map[string]reverie.Session
	for n := range 4 {
		id := fmt.Sprint("order", n)
		w.ensure(id)
		for rest := list; len(rest) > 0; {
			size := min(len(rest), []int{60, 1, 7, 25}[n])
			w.bring(id, rest[:size]...)
			if rest = rest[size:]; size > 1 || len(rest)%10 == 0 {
				w.counted(id)
			}
		}
		var got = map[string]reverie.Session{}
		for _, s := range w.counted(id) {
			s.GroupID, s.ID = "", fmt.Sprint(s.Cut, s.FirstAt) // the group is in the id
			got[s.ID] = s
		}
		if first == nil {
			first = got
		}
		if diff := cmp.Diff(first, got); diff != "" {
			t.Fatalf("in order %d (-first +now):\n%s", n, diff)
		}
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	if len(first) < 6 {
		t.Errorf("%d sessions: this test proves little", len(first))
	}
}

// A session keeps its id when an earlier message comes; one that nobody has worked
// with becomes part of a larger one, and of messages that are there only those of the
// smaller are written again. After that it stays what it is.
func TestLateMessagesMoveSessions(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	of := func() []string {
		t.Helper()
		w.counted(group)
		return pgtest.Rows(t, raw(t), `select message_id, rank() over (order by s.first_at), s.cut from messages m join sessions s using (group_id, session_id)
			where group_id = $1 order by sent_at`, group)
	}
	expect := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, of()); diff != "" {
			t.Errorf("message|session|cut (-want +got):\n%s", diff)
		}
	}
	versions := func() []string { return pgtest.Rows(t, raw(t), `select message_id, xmin from messages order by 1`) }
	rewritten := func(before []string) (n int) {
		for _, v := range versions() {
			if slices.Contains(before, v) {
				n++
			}
		}
		return len(before) - n
	}
	w.bring(group, line("c", "", "user", 100), line("d", "", "assistant", 110))
	id, before := w.list(reverie.SessionFilter{GroupID: group})[0].ID, versions()
	w.bring(group, line("b", "", "user", 75))
	if now := w.session(id); now.Total.Messages != 3 || rewritten(before) != 0 {
		t.Errorf("with an earlier message, and %d written again, it is %+v", rewritten(before), now)
	}
	expect("b|1|true", "c|1|true", "d|1|true")
	w.bring(group, line("a", "", "user", 20), line("x", "named", "user", 50)) // a named one bridges nothing
	expect("a|1|true", "x|2|false", "b|3|true", "c|3|true", "d|3|true")
	small := w.list(reverie.SessionFilter{GroupID: group})[2].ID
	before = versions()
	w.bring(group, line("between", "", "tool", 48))
	expect("a|1|true", "between|1|true", "x|6|false", "b|1|true", "c|1|true", "d|1|true")
	wantErr(t, second(w.Session(ctx, group, small)), reverie.ErrNotFound)
	if w.session(id).Total.Messages != 5 || rewritten(before) != 1 {
		t.Errorf("%d messages are written again", rewritten(before))
	}

	merged := w.list(reverie.SessionFilter{GroupID: group})[0]
	w.bring(group, line("late", "", "user", 145), reverie.Message{ID: "export", Author: "a", SentAt: noon, SessionID: merged.ID})
	late := w.list(reverie.SessionFilter{GroupID: group})[0]
	w.extraction(merged.ID, nil) // somebody works with it
	w.bring(group, line("bridge", "", "user", 128))
	if now := w.session(merged.ID); now.Total.Messages != 7 || w.session(late.ID).Total.Messages != 1 {
		t.Errorf("after a bridge to a fixed session %+v", now)
	}
	w.bring(group, line("first", "", "user", -20))
	if now := w.session(merged.ID); now.Total.Messages != 8 || !now.FirstAt.Equal(noon.Add(-20*time.Minute)) {
		t.Errorf("after an earlier message of a fixed session %+v", now)
	}
	w.counted(group)

	// Only what is gone cannot be worked with.
	_, err := w.StartRun(ctx, w.lease, reverie.Run{Job: reverie.JobExtract, SessionID: small})
	wantErr(t, err, reverie.ErrNotFound)
	// A reader has been shown it: it stays.
	_, err = raw(t).Exec(`insert into memory_usage_log (group_id, usage_id, memory_id, lineage_id, session_id, position, score, similarity, weight, strength, recency, created_at)
		values ($1, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), $2, 1, 1, 1, 1, 1, 1, now())`, group, late.ID)
	check(t, err)
	w.bring(group, line("after", "", "user", 170), line("far", "", "user", 210))
	w.bring(group, line("bridge2", "", "user", 190))
	if n := w.session(late.ID).Total.Messages; n != 3 || len(w.list(reverie.SessionFilter{GroupID: group})) != 4 {
		t.Errorf("the session that was shown has %d messages", n)
	}
	w.counted(group)
}

// An id that a platform has given to a session is none that silence cuts, whichever
// comes first; a message that names one that is cut belongs to it.
func TestNamedLikeCut(t *testing.T) {
	w := newWorld(t)
	at := func(minute int) time.Time { return noon.Add(time.Duration(minute) * time.Minute) }
	early, late := reverie.CutID(group, at(0), 0), reverie.CutID(group, at(500), 0)
	w.bring(group, line("n1", early, "user", 0))
	w.bring(group, line("c1", "", "user", 0), line("n2", early, "assistant", 1), line("c2", "", "user", 500), line("n3", late, "user", 500))
	w.bring(group, line("c3", "", "assistant", 2), line("n4", early, "user", 600), line("c4", "", "assistant", -5))
	cut := reverie.CutID(group, at(0), 1)
	w.bring(group, line("c5", cut, "user", 100))
	want := map[string]int{early: 3, late: 1, cut: 4, reverie.CutID(group, at(500), 1): 1}
	got := map[string]int{}
	for id, s := range w.counted(group) {
		if got[id] = s.Total.Messages; s.Cut != (id != early && id != late) {
			t.Errorf("cut by silence: %+v", s)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
}

func (w *world) list(f reverie.SessionFilter) []reverie.Session {
	w.t.Helper()
	list, _, err := w.ListSessions(w.t.Context(), f)
	check(w.t, err)
	return list
}

// A group's own silence cuts its sessions, and the configured one those of others.
func TestSilenceOfAGroup(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	check(t, w.AddGroup(ctx, reverie.Group{ID: "patient", SessionSilence: "2h"}))
	for id, want := range map[string]int{group: 2, "patient": 1} {
		w.bring(id, line("a", "", "user", 0), line("b", "", "user", 119))
		if got := len(w.list(reverie.SessionFilter{GroupID: id})); got != want {
			t.Errorf("%s has %d sessions, want %d", id, got, want)
		}
	}
	must(w.ChangeGroup(ctx, "patient", reverie.GroupChange{SessionSilence: pointer("5m")}, time.Time{}))(t)
	w.bring("patient", line("c", "", "user", 125), line("d", "", "user", 60))
	if got := w.list(reverie.SessionFilter{GroupID: "patient"}); len(got) != 2 || must(w.Group(ctx, "patient"))(t).SessionSilence != "5m" {
		t.Errorf("after the change %+v", got)
	}
	wantErr(t, second(w.ChangeGroup(ctx, "patient", reverie.GroupChange{SessionSilence: pointer("1s")}, time.Time{})), reverie.ErrInvalid)
	w.counted("patient")
}

// Imports into one session at the same time, among them messages that another
// brings, too, and an extraction that takes what it finds: all is counted, and each
// message is taken once.
func TestConcurrentImportsAndExtraction(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	const importers, each = 4, 8
	w.turns("s", 0, 1)
	run := must(w.StartRun(ctx, w.lease, reverie.Run{Job: reverie.JobExtract, SessionID: "s"}))(t).ID
	var wg sync.WaitGroup
	for n := range importers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 9))
			for i := range each {
				shared, own := fmt.Sprintf("shared%02d", i), fmt.Sprintf("own%d-%02d", n, i)
				list := []reverie.Message{line(shared, "s", "user", 10+i), line(own, []string{"s", ""}[i%2], "assistant", r.IntN(60)), line(own+"t", "s", "tool", r.IntN(60))}
				if n%2 == 1 {
					slices.Reverse(list)
				}
				if _, err := w.ImportMessages(ctx, group, list); err != nil {
					t.Error(err)
				}
			}
		})
	}
	taken := map[string]bool{}
	take := func(no int) (n int) {
		state := must(w.GatherSession(ctx, reverie.SessionQuery{GroupID: group, SessionID: "s", Limit: 7}))(t)
		ids := messageIDs(state.Messages)
		if len(ids) == 0 {
			return 0
		}
		w.part(run, no, ids)
		must(w.Apply(ctx, w.lease, takes(run, no, "s", ids)))(t)
		for _, id := range ids {
			if taken[id] {
				t.Errorf("%s is taken twice", id)
			}
			taken[id] = true
		}
		return len(ids)
	}
	no := 1
	for ; no < 10; no++ {
		take(no)
	}
	wg.Wait()
	if s := w.counted(group)["s"]; s.Total.Messages != 2+each+importers*each*3/2 || s.New.Messages != s.Total.Messages-len(taken) {
		t.Errorf("%d taken: %+v", len(taken), s)
	}
	for ; take(no) > 0; no++ {
	}
	if s := w.counted(group)["s"]; s.New != (reverie.Tally{}) || len(taken) != s.Total.Messages || !s.ExtractedUntil.Equal(s.LastAt) {
		t.Errorf("at last %d taken: %+v", len(taken), s)
	}
}
