package api_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"reverie/internal/api"
	"reverie/internal/reverie"
)

// TestUndoRun: only who decides in a group takes its runs back; a dry run writes nothing,
// and what it saw holds the real one to it; twice is a conflict.
func TestUndoRun(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	run := d.hand(reverie.Proposal{GroupID: petitioned, Action: reverie.ActionCreate, Statement: "the group drinks tea"}).Run.ID
	_, err := d.Approve(d.person, run)
	d.check(err)
	q := reverie.UndoQuery{RunID: run, GroupID: "other", DryRun: true} // the group is the run's own
	callers := d.callers()
	for who, want := range map[string]error{"nobody": reverie.ErrUnauthorized, "read": reverie.ErrForbidden, "write": reverie.ErrForbidden,
		"other read": reverie.ErrNotFound, "other write": reverie.ErrNotFound, "other admin": reverie.ErrNotFound} {
		for _, q.DryRun = range []bool{false, true} {
			if _, err := d.Undo(callers[who], q); !errors.Is(err, want) {
				t.Errorf("%s, dry run %v: %v, want %v", who, q.DryRun, err, want)
			}
		}
	}
	for _, id := range []string{"", "no id", reverie.NewID(), "\x00", strings.Repeat("9", 10_000)} {
		if _, err := d.Undo(callers["admin"], reverie.UndoQuery{RunID: id}); !errors.Is(err, reverie.ErrNotFound) {
			t.Errorf("run %.20q: %v", id, err)
		}
	}
	lease, err := d.Store.AcquireLease(d.ctx, petitioned, reverie.LeaseGroup, "elsewhere:1", time.Minute)
	d.check(err)
	dry, err := d.Undo(callers["admin"], q) // that another is at work does not matter
	d.check(err)
	if u := dry.Runs[0]; !dry.Success || !dry.DryRun || dry.GroupID != petitioned || u.Deprecated != 1 || len(u.Changes) != 1 || !u.Exact || !u.UndoneAt.IsZero() {
		t.Errorf("the dry run: %+v", dry)
	}
	q.DryRun, q.Before = false, dry.Runs[0].Before
	for _, q.Reason = range []string{strings.Repeat("茶", reverie.MaxReason+1), "\xff", "\x00"} {
		if _, err := d.Undo(d.person, q); !errors.Is(err, reverie.ErrInvalid) {
			t.Errorf("the reason %.20q: %v", q.Reason, err)
		}
	}
	q.Reason = "it is coffee"
	var busy *reverie.BusyError
	if _, err := d.Undo(d.person, q); !errors.As(err, &busy) {
		t.Errorf("in a group that another holds: %v", err)
	}
	d.check(d.Store.ReleaseLease(d.ctx, lease))
	d.now = d.now.Add(time.Minute)
	d.remembered("the group plays go")
	if _, err := d.Undo(d.person, q); !errors.Is(err, reverie.ErrConflict) || len(d.active()) != 2 {
		t.Errorf("something else is active by now: %v, active %q", err, d.active())
	}
	q.Before = ""
	reply, err := d.Undo(callers["admin"], q)
	d.check(err)
	if u := reply.Runs[0]; u.Deprecated != 1 || u.Exact || u.Others != 1 || u.UndoneAt.IsZero() || len(d.active()) != 1 || u.Changes[0].Summary != q.Reason {
		t.Errorf("taken back: %+v, active %q", reply, d.active())
	}
	for _, q.DryRun = range []bool{false, true} {
		if _, err := d.Undo(d.person, q); !errors.Is(err, reverie.ErrConflict) {
			t.Errorf("twice, dry run %v: %v", q.DryRun, err)
		}
	}
	seen, err := d.Runs(callers["read"], reverie.RunQuery{GroupID: petitioned, Limit: 5})
	d.check(err)
	if seen.Runs[1].UndoneAt == nil || seen.Runs[0].UndoneAt != nil {
		t.Errorf("the runs are %+v", seen.Runs)
	}
	all := reverie.UndoQuery{GroupID: petitioned, Requeue: true, Force: true}
	for _, want := range []int{1, 0} { // what is done with is passed over
		if r, err := api.UndoRuns(d.ctx, d.Store, d.Leases, all, "", time.Time{}); err != nil || len(r.Runs) != want {
			t.Errorf("all runs, want %d: %+v, %v", want, r, err)
		}
	}
}
