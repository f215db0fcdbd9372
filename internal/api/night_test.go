package api_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/api"
	"reverie/internal/reverie"
	"reverie/jobs"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// almanac is where nights are written down, past all that makes them.
type almanac struct {
	*testing.T
	*api.Service
	ctx context.Context
	db  *sql.DB
}

func newAlmanac(t *testing.T) *almanac {
	t.Helper()
	t.Parallel()
	a := &almanac{T: t, ctx: api.WithCaller(t.Context(), api.Anyone)}
	a.Service = &api.Service{Store: pgtest.Open(t, pg.Options{}), Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	db, err := sql.Open("postgres", pgtest.URL(t))
	a.check(err)
	t.Cleanup(func() { _ = db.Close() })
	a.db = db
	return a
}

func (a *almanac) check(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}

func (a *almanac) write(query string, args ...any) {
	a.Helper()
	if _, err := a.db.Exec(query, args...); err != nil {
		a.Fatalf("%s: %v", query, err)
	}
}

func (a *almanac) group(id, zone string) {
	a.Helper()
	_, err := a.Store.EnsureGroup(a.ctx, reverie.Group{ID: id, TimeZone: zone})
	a.check(err)
	a.write(`insert into memories (group_id, memory_id, lineage_id, kind, statement, version, status, strength, content_hash, created_at, updated_at, last_supported_at)
		values ($1, $2, $2, 'group', 'they like tea', 1, 'active', 1, 'x', now(), now(), now())`, id, reverie.NewID())
}

// run writes a run that created something, and one row of the change log.
func (a *almanac) run(groupID string, r reverie.Run) string {
	a.Helper()
	id := reverie.NewID()
	a.write(`insert into runs (group_id, run_id, job, window_since, window_until, status, attempt, started_at, finished_at, undone_at, stats)
		values ($1, $2, $3, $4, $5, 'succeeded', 1, $6, $6, $7, '{"created": 1, "archived": 2}')`, groupID, id, string(r.Job), r.WindowSince, r.WindowUntil, r.StartedAt, r.UndoneAt)
	a.changed(groupID, &id, r.StartedAt)
	return id
}

// changed writes a row of the change log: of a run, or a person's.
func (a *almanac) changed(groupID string, runID *string, at time.Time) {
	a.Helper()
	a.write(`insert into memory_change_log (group_id, change_id, run_id, action, memory_id, version, new_statement, created_at)
		select $1, $2, $3, 'create', memory_id, 1, $4, $5 from memories where group_id = $1`, groupID, reverie.NewID(), runID, fmt.Sprint(at.UnixMicro()), at)
}

// told is what a page tells of a night.
type told struct {
	Date              string
	Runs, Changes     []string
	Created, Archived int
}

// walk reads all nights of a group, in pages of so many.
func (a *almanac) walk(groupID string, limit int) (list []told, pages int) {
	a.Helper()
	for before := ""; ; pages++ {
		reply, err := a.Nights(a.ctx, groupID, before, limit)
		a.check(err)
		if len(reply.Nights) > limit || reply.Cut || reply.More != (reply.Next != "") || reply.More && before == reply.Next {
			a.Fatalf("before %q: %+v", before, reply)
		}
		for _, n := range reply.Nights {
			list = append(list, tell(n))
		}
		if !reply.More {
			return list, pages + 1
		}
		before = reply.Next
	}
}

func tell(n reverie.Night) told {
	t := told{Date: n.Date, Created: n.Stats.Created, Archived: n.Archived}
	for _, r := range n.Runs {
		t.Runs = append(t.Runs, r.ID)
	}
	for _, c := range n.Changes {
		t.Changes = append(t.Changes, c.NewStatement)
	}
	slices.Sort(t.Runs)
	return t
}

// TestNights finds each run and each edit once, on the date that it is of, however pages
// are cut, in a group that moved from Shanghai to New York.
func TestNights(t *testing.T) {
	seed := uint64(1)
	if os.Getenv("REVERIE_TEST_THOROUGH") != "" {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 5))
	a := newAlmanac(t)
	a.group(petitioned, "Asia/Shanghai")
	a.group("other", "UTC")
	start := time.Date(2025, 2, 1, 7, 30, 0, 0, time.UTC)
	a.run(petitioned, reverie.Run{Job: reverie.JobMaintain, WindowSince: start, WindowUntil: start, StartedAt: start.Add(-500 * 24 * time.Hour)}) // long before all else
	zone, boundary := "America/New_York", "04:00"
	g, err := a.Store.Group(a.ctx, petitioned)
	a.check(err)
	cal, err := jobs.CalendarOf(g)
	a.check(err)
	_, err = a.Store.ChangeGroup(a.ctx, petitioned, reverie.GroupChange{TimeZone: &zone, DayBoundary: &boundary}, cal.Containing(start.AddDate(0, 0, 20)).Until)
	a.check(err)
	if g, err = a.Store.Group(a.ctx, petitioned); err != nil || len(g.Past) != 1 {
		t.Fatalf("%v: %+v", err, g)
	}
	cal, err = jobs.CalendarOf(g)
	a.check(err)

	want := map[string]*told{}
	at := func(date string) *told {
		if want[date] == nil {
			want[date] = &told{Date: date}
		}
		return want[date]
	}
	pick := func() time.Time { // two months, with a gap and some days that have much
		return start.Add(time.Duration(random.IntN(60*24*60))*time.Minute + time.Duration(random.IntN(2)*150*24)*time.Hour)
	}
	for range 80 {
		r := reverie.Run{Job: reverie.Jobs[random.IntN(len(reverie.Jobs))], StartedAt: pick()}
		window := cal.Containing(pick())
		r.WindowSince, r.WindowUntil = window.Since, window.Until
		whole := random.IntN(3) > 0
		if whole && random.IntN(3) == 0 { // of several dates
			r.WindowUntil = cal.Containing(cal.Containing(window.Until).Until).Until
		}
		if !whole {
			r.WindowUntil = window.Until.Add(-time.Microsecond)
		}
		if random.IntN(10) == 0 {
			r.UndoneAt = &start
		}
		date := cal.Containing(r.StartedAt).Date
		if whole && (r.Job == reverie.JobEvolve || r.Job == reverie.JobImpression) {
			date = window.Date
		}
		on := at(date)
		on.Runs = append(on.Runs, a.run(petitioned, r))
		on.Changes = append(on.Changes, fmt.Sprint(r.StartedAt.UnixMicro()))
		if r.UndoneAt == nil && r.Job != reverie.JobImpression {
			on.Created, on.Archived = on.Created+1, on.Archived+2
		}
	}
	for range 40 {
		when := pick()
		on := at(cal.Containing(when).Date)
		on.Changes = append(on.Changes, fmt.Sprint(when.UnixMicro()))
		a.changed(petitioned, nil, when)
	}
	a.run("other", reverie.Run{Job: reverie.JobEvolve, WindowSince: start, WindowUntil: start, StartedAt: start})
	first := at(cal.Containing(start.Add(-500 * 24 * time.Hour)).Date)
	first.Runs, first.Changes, first.Created, first.Archived = pgtest.Rows(t, a.db, `select run_id from runs where group_id = $1 order by started_at limit 1`, petitioned),
		[]string{fmt.Sprint(start.Add(-500 * 24 * time.Hour).UnixMicro())}, 1, 2

	var all []told
	for _, n := range want {
		slices.Sort(n.Runs)
		slices.SortFunc(n.Changes, func(a, b string) int { return strings.Compare(b, a) })
		all = append(all, *n)
	}
	slices.SortFunc(all, func(a, b told) int { return strings.Compare(b.Date, a.Date) })
	for _, limit := range []int{1, 7, api.MaxNights} {
		got, _ := a.walk(petitioned, limit)
		if diff := cmp.Diff(all, got); diff != "" {
			t.Fatalf("in pages of %d (-want +got):\n%s", limit, diff)
		}
	}
	if got, _ := a.walk("other", 5); len(got) != 1 || len(got[0].Runs) != 1 {
		t.Errorf("of another group: %+v", got)
	}
}

// TestNightsAreBounded: a page has so many runs and changes and no more, whatever was
// done in a night, and it goes on however far nights are apart.
func TestNightsAreBounded(t *testing.T) {
	a := newAlmanac(t)
	for _, id := range []string{"full", "sparse", "edited", "backfilled", "busy", "empty"} {
		a.group(id, "UTC")
	}
	noon := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	a.write(`insert into runs (group_id, run_id, job, window_since, window_until, status, attempt, started_at, finished_at, stats)
		select 'full', gen_random_uuid(), 'extract', $1::timestamptz, $1::timestamptz, 'succeeded', 1, $1::timestamptz + i % 3 * interval '1 day' - i * interval '1 second', $1, '{"created": 1}'::jsonb from generate_series(1, 900) i
		union all select 'full', gen_random_uuid(), 'extract', $1, $1, 'succeeded', 1, $1::timestamptz - interval '5 day', $1, '{"created": 1}'::jsonb from generate_series(1, 502) i
		union all select 'sparse', gen_random_uuid(), 'evolve', $1, $1, 'succeeded', 1, $1::timestamptz - i * interval '100 day', $1, '{}' from generate_series(1, 20) i
		union all select 'backfilled', gen_random_uuid(), 'evolve', d, d + interval '24 hours', 'succeeded', 1, $1, $1, '{}'
			from (select timestamptz '2026-01-14Z' - i * interval '24 hours' as d from generate_series(0, 99) i) x`, noon)
	a.write(`insert into memory_change_log (group_id, change_id, run_id, action, memory_id, version, created_at)
		select m.group_id, gen_random_uuid(), case when i > 300 then r.run_id end, 'create', m.memory_id, 1, $1::timestamptz + i * interval '1 second'
		from generate_series(1, 600) i, memories m left join lateral (select min(run_id::text)::uuid as run_id from runs where group_id = m.group_id) r on true
		where m.group_id = 'edited'`, noon.AddDate(0, 0, -1))

	a.write(`insert into memory_change_log (group_id, change_id, action, memory_id, version, created_at)
		select group_id, gen_random_uuid(), 'strength', memory_id, 1, $1::timestamptz - i % 60 * interval '24 hours' - i * interval '1 second'
		from generate_series(0, 599) i, memories where group_id = 'busy'`, noon)

	reply, err := a.Nights(a.ctx, "full", "", 10)
	a.check(err)
	if len(reply.Nights) != 1 || len(reply.Nights[0].Runs) != 300 || !reply.More || reply.Cut || reply.Next != "2026-01-17" {
		t.Errorf("three nights of 300 runs: %d of them, more %v, next %q", len(reply.Nights), reply.More, reply.Next)
	}
	reply, err = a.Nights(a.ctx, "full", "2026-01-14", 10)
	a.check(err)
	if len(reply.Nights) != 1 || len(reply.Nights[0].Runs) != 500 || reply.Nights[0].Stats.Created != 502 || reply.More || !reply.Cut {
		t.Errorf("a night of 502 runs: %d, with %d, cut %v", len(reply.Nights), len(reply.Nights[0].Runs), reply.Cut)
	}
	reply, err = a.Nights(a.ctx, "edited", "", 10)
	a.check(err)
	if n := reply.Nights[0]; len(reply.Nights) != 1 || len(n.Changes) != 500 || !reply.Cut || !n.Changes[0].CreatedAt.After(n.Changes[499].CreatedAt) {
		t.Errorf("a night of 600 edits: %d of them, cut %v", len(n.Changes), reply.Cut)
	}
	for id, want := range map[string]struct{ nights, pages int }{"sparse": {20, 3}, "backfilled": {100, 2}, "busy": {60, 2}, "empty": {0, 1}} {
		if got, pages := a.walk(id, api.MaxNights); len(got) != want.nights || pages != want.pages {
			t.Errorf("%s: %d nights in %d pages, want %+v", id, len(got), pages, want)
		}
	}
}

// TestNightsAsked refuses what cannot be asked, and tells strangers nothing.
func TestNightsAsked(t *testing.T) {
	a := newAlmanac(t)
	a.group(petitioned, "Asia/Shanghai")
	a.group("unread", "UTC")
	a.write(`update groups set time_zone = 'Nowhere/Land' where group_id = 'unread'`)
	for _, c := range []struct {
		ctx             context.Context
		groupID, before string
		limit           int
		want            error
	}{
		{a.ctx, petitioned, "", 0, reverie.ErrInvalid}, {a.ctx, petitioned, "", api.MaxNights + 1, reverie.ErrInvalid},
		{a.ctx, petitioned, "yesterday", 1, reverie.ErrInvalid}, {a.ctx, petitioned, "2026-02-30", 1, reverie.ErrInvalid},
		{a.ctx, petitioned, "\x00", 1, reverie.ErrInvalid}, {a.ctx, "nowhere", "", 1, reverie.ErrNotFound}, {a.ctx, "", "", 1, reverie.ErrNotFound},
		{a.ctx, "\x00", "", 1, reverie.ErrInvalid}, {t.Context(), petitioned, "", 1, reverie.ErrUnauthorized},
		{api.WithCaller(t.Context(), api.Caller{GroupID: "other", Scope: reverie.ScopeAdmin}), petitioned, "", 1, reverie.ErrNotFound},
		{a.ctx, petitioned, "0001-01-01", 1, nil}, {a.ctx, petitioned, "9999-12-31", 1, nil}, {a.ctx, "unread", "", 1, nil},
	} {
		reply, err := a.Nights(c.ctx, c.groupID, c.before, c.limit)
		if !errors.Is(err, c.want) || err == nil && (reply.Nights == nil || len(reply.Nights) != 0) {
			t.Errorf("%d nights of %q before %q: %+v, %v; want %v", c.limit, c.groupID, c.before, reply, err, c.want)
		}
	}
}
