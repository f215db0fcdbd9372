package evolve

import (
	"errors"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

// TestRewindOfHeldRuns rejects what runs that go hold: nobody can approve or
// reject it any more, and is told why.
func TestRewindOfHeldRuns(t *testing.T) {
	s := newStage(t)
	s.on(0, "note Alpha.", "note Beta.", "note Gamma.", "note Delta.")
	whole := s.on(1, "drop Alpha.", "drop Beta.", "drop Gamma.", "small talk")
	line := s.on(2, "forget Delta.", "note New.")
	s.want(`select whole, status from held_plans order by created_at`, "true|waiting", "false|waiting")
	before := must(s.store.Run(t.Context(), s.group, line.RunID))(t)
	res := s.rewind(night(1).Since, false)
	if res.Runs != 2 || res.Messages != 6 || res.Deprecated != 1 || !res.Earliest.Equal(night(1).Since.Add(time.Hour)) {
		t.Errorf("%+v", res)
	}
	s.want(`select status from held_plans`, "rejected", "rejected")
	s.want(`select status, undone_at is null from runs order by started_at`, "succeeded|true", "rejected|false", "rejected|false")
	for _, run := range []string{whole.RunID, line.RunID} {
		_, approveErr := s.approve(run)
		h := s.hold()
		_, rejectErr := s.store.RejectHeld(t.Context(), h.lease, s.group, run, true)
		// Whoever read the run before it was taken back is refused too.
		_, lateErr := s.pipe.Approve(t.Context(), s.store, h, before.Run, before.Held)
		s.release(h)
		for _, err := range []error{approveErr, rejectErr, lateErr} {
			wantErr(t, err, reverie.ErrConflict)
			if !strings.Contains(err.Error(), "undone at "+s.now.UTC().Format(time.RFC3339)) {
				t.Errorf("does not say why: %v", err)
			}
		}
	}
	if s.pending() != 6 {
		t.Errorf("%d messages are pending", s.pending())
	}
	if again := s.again(1); again.Status != reverie.RunHeld {
		t.Errorf("replayed as %s", again.Status)
	}
	s.want(`select attempt from runs where window_since = '`+night(1).Since.Format(time.RFC3339)+`' order by started_at`, "1", "2")
}

// TestRewindOfADeadRun takes back a run whose process died with one chunk applied
// and one answered: nobody continues it, nor uses its answer.
func TestRewindOfADeadRun(t *testing.T) {
	s := newStage(t)
	s.on(0, "note Alpha.")
	s.pipe.Limits.MaxMessages = 2
	s.say(night(1).Since.Add(time.Hour), "note One.", "note Two.", "again Alpha.", "note Three.")
	dying, applied := pgtest.NewMortal(s.store, -1), 0
	dying.Before = func(call string) {
		if call == "Apply" {
			if applied++; applied == 2 {
				dying.Left = 0
			}
		}
	}
	s.now = night(1).Until.Add(2 * time.Hour)
	if _, err := s.runWith(t.Context(), s.pipelineOf(dying, s.pipe.Limits), night(1)); !errors.Is(err, pgtest.ErrDead) {
		t.Fatal(err)
	}
	s.want(`select r.status, c.status from runs r join run_chunks c using (group_id, run_id) order by r.started_at, c.chunk_no`,
		"succeeded|applied", "running|applied", "running|answered")
	asked := len(s.questions())
	if res := s.rewind(night(1).Since, false); res.Runs != 1 || res.Messages != 2 || res.Deprecated != 2 || s.pending() != 4 {
		t.Errorf("%+v, %d pending", res, s.pending())
	}
	s.want(`select status, error <> '', finished_at is not null from runs where undone_at is not null`, "failed|true|true")
	res := s.again(1)
	if res.Stats.Chunks != 2 || res.Stats.Created != 3 || len(s.questions()) != asked+2 {
		t.Errorf("stats %+v, asked %d times", res.Stats, len(s.questions())-asked)
	}
	s.want(`select attempt, status from runs order by started_at`, "1|succeeded", "1|failed", "2|succeeded")
	s.wantSound()
	s.wantWithdrawn()
}

// TestRewindLeavesAnswersOfUndoneRunsAlone does not take up the answer of a run
// that failed after the night that is gone back to, though its messages and the
// question are the same.
func TestRewindLeavesAnswersOfUndoneRunsAlone(t *testing.T) {
	s := newStage(t)
	s.on(0, "note Alpha.")
	s.on(1, "small talk")
	s.say(night(2).Since.Add(time.Hour), "note One.")
	dying := pgtest.NewMortal(s.store, -1)
	dying.Before = func(call string) {
		if call == "Apply" {
			dying.Left = 0
		}
	}
	s.now = night(2).Until.Add(2 * time.Hour)
	if _, err := s.runWith(t.Context(), s.pipelineOf(dying, s.pipe.Limits), night(2)); !errors.Is(err, pgtest.ErrDead) {
		t.Fatal(err)
	}
	s.rewind(night(1).Since, false)
	s.again(1)
	asked := len(s.questions())
	s.again(2)
	if n := len(s.questions()) - asked; n != 1 {
		t.Errorf("asked %d times about the night", n)
	}
}
