package api_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"reverie/internal/api"
	"reverie/internal/reverie"
)

// callers are the contexts of who asks, by what it may do in the desk's group, and of a
// stranger to it.
func (d *desk) callers() map[string]context.Context {
	found := map[string]context.Context{"nobody": d.T.Context()}
	for _, scope := range reverie.Scopes {
		found[string(scope)] = api.WithCaller(d.T.Context(), api.Caller{GroupID: petitioned, Scope: scope})
		found["other "+string(scope)] = api.WithCaller(d.T.Context(), api.Caller{GroupID: "other", Scope: scope})
	}
	return found
}

// TestDecide: only who decides in a group approves or rejects what its runs hold; to
// others of the group it is forbidden, and to strangers the run is not there.
func TestDecide(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	one := d.hand(reverie.Proposal{GroupID: petitioned, Action: reverie.ActionCreate, Statement: "the group drinks tea"}).Run.ID
	two := d.hand(reverie.Proposal{GroupID: petitioned, Action: reverie.ActionCreate, Statement: "the group plays go"}).Run.ID
	callers := d.callers()
	for who, want := range map[string]error{"nobody": reverie.ErrUnauthorized, "read": reverie.ErrForbidden, "write": reverie.ErrForbidden,
		"other read": reverie.ErrNotFound, "other write": reverie.ErrNotFound, "other admin": reverie.ErrNotFound} {
		_, err := d.Approve(callers[who], one)
		_, err2 := d.Reject(callers[who], one, true)
		if !errors.Is(err, want) || !errors.Is(err2, want) {
			t.Errorf("%s: %v and %v; want %v", who, err, err2, want)
		}
	}
	for _, who := range []string{"read", "admin"} {
		for _, id := range []string{"", "no id", reverie.NewID(), "\x00", strings.Repeat("9", 10_000)} {
			if _, err := d.Approve(callers[who], id); !errors.Is(err, reverie.ErrNotFound) {
				t.Errorf("%s approves run %.20q: %v", who, id, err)
			}
		}
	}
	if got := d.active(); got != nil {
		t.Fatalf("remembered by now: %q", got)
	}
	reply, err := d.Approve(callers["admin"], one)
	d.check(err)
	if !reply.Success || reply.RunID != one || reply.Status != reverie.RunSucceeded || len(reply.Changes) != 1 || reply.Messages != nil {
		t.Errorf("approved: %+v", reply)
	}
	rejected, err := d.Reject(callers["admin"], two, false)
	d.check(err)
	if rejected != (reverie.RejectReply{Success: true, RunID: two}) || len(d.active()) != 1 {
		t.Errorf("rejected: %+v, remembered %q", rejected, d.active())
	}
	if _, err := d.Reject(callers["admin"], one, false); !errors.Is(err, reverie.ErrConflict) {
		t.Errorf("rejected what was approved: %v", err)
	}
}

// TestDecideBusy waits for nobody: another's lease is told of.
func TestDecideBusy(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	run := d.hand(reverie.Proposal{GroupID: petitioned, Action: reverie.ActionCreate, Statement: "the group drinks tea"}).Run.ID
	_, err := d.Store.AcquireLease(d.ctx, petitioned, reverie.LeaseGroup, "elsewhere:1", time.Minute)
	d.check(err)
	_, err = d.Approve(d.person, run)
	_, err2 := d.Reject(d.person, run, false)
	var busy, busy2 *reverie.BusyError
	if !errors.As(err, &busy) || !errors.As(err2, &busy2) || busy.Holder != "elsewhere:1" {
		t.Errorf("in a group that another holds: %v, and %v", err, err2)
	}
}

// TestRunsOfACaller shows a token of one group that group's runs alone, in pages, and
// each run whole.
func TestRunsOfACaller(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var ids []string
	for _, text := range []string{"the group drinks tea", "the group plays go", "the group has a dog"} {
		ids = append([]string{d.hand(reverie.Proposal{GroupID: petitioned, Action: reverie.ActionCreate, Statement: text}).Run.ID}, ids...)
		d.now = d.now.Add(time.Minute)
	}
	callers := d.callers()
	first, err := d.Runs(callers["read"], reverie.RunQuery{Limit: 2})
	d.check(err)
	rest, err := d.Runs(callers["read"], reverie.RunQuery{GroupID: petitioned, Limit: 2, Before: first.Runs[1].ID, Held: true})
	d.check(err)
	if len(first.Runs) != 2 || !first.More || len(rest.Runs) != 1 || rest.More || first.Runs[0].ID != ids[0] || rest.Runs[0].ID != ids[2] {
		t.Errorf("first %+v, then %+v, want %q", first, rest, ids)
	}
	none, err := d.Runs(callers["other read"], reverie.RunQuery{Limit: 2})
	d.check(err)
	if none.Runs == nil || len(none.Runs) != 0 || !none.Success {
		t.Errorf("a stranger sees %+v", none)
	}
	for _, c := range []struct {
		who  string
		q    reverie.RunQuery
		want error
	}{
		{"nobody", reverie.RunQuery{Limit: 1}, reverie.ErrUnauthorized}, {"read", reverie.RunQuery{}, reverie.ErrInvalid},
		{"read", reverie.RunQuery{Limit: api.MaxPage + 1}, reverie.ErrInvalid}, {"read", reverie.RunQuery{Limit: 1, Job: "sleep"}, reverie.ErrInvalid},
		{"read", reverie.RunQuery{Limit: 1, Status: "fine"}, reverie.ErrInvalid},
		{"other read", reverie.RunQuery{GroupID: petitioned, Limit: 1}, reverie.ErrNotFound},
		{"other read", reverie.RunQuery{Limit: 1, Before: ids[0]}, reverie.ErrNotFound},
	} {
		if _, err := d.Runs(callers[c.who], c.q); !errors.Is(err, c.want) {
			t.Errorf("%s asks %+v: %v, want %v", c.who, c.q, err, c.want)
		}
	}
	_, err = d.Runs(d.person, reverie.RunQuery{GroupID: "nowhere", Limit: 1})
	if !errors.Is(err, reverie.ErrNotFound) {
		t.Errorf("of no group: %v", err)
	}
	run, err := d.Service.Run(callers["read"], ids[1])
	d.check(err)
	if run.Run.ID != ids[1] || len(run.Held) != 1 || run.Held[0].Steps[0].Statement != "the group plays go" || run.Cut || run.Changes == nil || run.Calls == nil {
		t.Errorf("run %+v", run)
	}
	if _, err := d.Service.Run(callers["other admin"], ids[1]); !errors.Is(err, reverie.ErrNotFound) {
		t.Errorf("a stranger sees a run: %v", err)
	}
}
