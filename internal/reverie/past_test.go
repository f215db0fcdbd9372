package reverie_test

import (
	"errors"
	"testing"
	"time"

	"reverie/internal/reverie"
)

// TestStatusOfThen: what is deprecated by now may have been archived or held before.
func TestStatusOfThen(t *testing.T) {
	noon := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	hour := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Hour) }
	version := func(n, since, until int, status reverie.Status, later ...reverie.WhyLater) reverie.WhyVersion {
		end := hour(until)
		v := reverie.WhyVersion{Memory: reverie.Memory{Version: n, Status: status, UpdatedAt: hour(since), EndedAt: &end}, Later: later}
		if status == reverie.StatusActive {
			v.Memory.EndedAt = nil
		}
		return v
	}
	event := func(a reverie.Action, at int) reverie.WhyLater {
		return reverie.WhyLater{Action: a, At: hour(at), Ends: a == reverie.ActionDelete || a == reverie.ActionUndo}
	}
	takenBack := func(at int) reverie.WhyLater { return reverie.WhyLater{Action: reverie.ActionUndo, At: hour(at)} } // its support
	const active, superseded, deprecated, archived, held = reverie.StatusActive, reverie.StatusSuperseded, reverie.StatusDeprecated, reverie.StatusArchived, reverie.StatusHeld
	for name, c := range map[string]struct {
		versions []reverie.WhyVersion
		want     [6]reverie.Status // of the first version, at noon and each hour after
	}{
		"active":     {[]reverie.WhyVersion{version(1, 0, 0, active)}, [6]reverie.Status{active, active, active, active, active, active}},
		"superseded": {[]reverie.WhyVersion{version(1, 0, 2, superseded), version(2, 2, 0, active)}, [6]reverie.Status{active, active, superseded, superseded, superseded, superseded}},
		"deleted": {[]reverie.WhyVersion{version(1, 0, 2, deprecated, event(reverie.ActionDelete, 2))},
			[6]reverie.Status{active, active, deprecated, deprecated, deprecated, deprecated}},
		"archived": {[]reverie.WhyVersion{version(1, 0, 2, archived, event(reverie.ActionArchive, 2))},
			[6]reverie.Status{active, active, archived, archived, archived, archived}},
		"held": {[]reverie.WhyVersion{version(1, 0, 2, held)}, [6]reverie.Status{active, active, held, held, held, held}},
		"held, and deleted then": {[]reverie.WhyVersion{version(1, 0, 2, deprecated, event(reverie.ActionDelete, 4))},
			[6]reverie.Status{active, active, held, held, deprecated, deprecated}},
		"less supported, held, and deleted then": {[]reverie.WhyVersion{version(1, 0, 2, deprecated, takenBack(1), takenBack(3), event(reverie.ActionDelete, 4))},
			[6]reverie.Status{active, active, held, held, deprecated, deprecated}},
		"held, and restored": {[]reverie.WhyVersion{version(1, 0, 2, superseded), version(2, 4, 0, active)},
			[6]reverie.Status{active, active, held, held, superseded, superseded}},
		"deleted, and restored": {[]reverie.WhyVersion{version(1, 0, 2, superseded, event(reverie.ActionDelete, 2)), version(2, 4, 0, active)},
			[6]reverie.Status{active, active, deprecated, deprecated, superseded, superseded}},
		"archived, and back": {[]reverie.WhyVersion{version(1, 0, 2, superseded, event(reverie.ActionArchive, 2)), version(2, 4, 0, active)},
			[6]reverie.Status{active, active, archived, archived, superseded, superseded}},
		"archived, and taken back": {[]reverie.WhyVersion{version(1, 0, 2, deprecated, event(reverie.ActionArchive, 2), event(reverie.ActionUndo, 4))},
			[6]reverie.Status{active, active, archived, archived, deprecated, deprecated}},
		"nobody knows how": {[]reverie.WhyVersion{version(1, 0, 2, deprecated)}, [6]reverie.Status{active, active, deprecated, deprecated, deprecated, deprecated}},
	} {
		why := reverie.Why{Versions: c.versions, Memory: c.versions[len(c.versions)-1].Memory}
		for i, want := range c.want {
			past, err := why.AsOf(reverie.When{At: hour(i), Recorded: true})
			if err != nil {
				t.Fatal(err)
			}
			v := past.Versions[0]
			if v.Memory.Status != want {
				t.Errorf("%s, after %d hours: %s, want %s", name, i, v.Memory.Status, want)
			}
			for _, l := range v.Later {
				if l.At.After(hour(i)) {
					t.Errorf("%s, after %d hours: %s was still to come", name, i, l.Action)
				}
			}
			if n := len(past.Versions); past.Memory.Version != past.Versions[n-1].Memory.Version {
				t.Errorf("%s, after %d hours: version %d of %d", name, i, past.Memory.Version, n)
			}
		}
		if _, err := why.AsOf(reverie.When{At: noon.Add(-time.Microsecond), Recorded: true}); !errors.Is(err, reverie.ErrNotFound) {
			t.Errorf("%s, before it began: %v", name, err)
		}
	}
}

func TestBetweenQueryUntil(t *testing.T) {
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		from, to, want time.Duration // from now; to 0 = not given
		bad            bool
	}{
		{-time.Hour, 0, 0, false},
		{-time.Hour, -time.Minute, -time.Minute, false},
		{-time.Hour, time.Hour, 0, false}, // still to come: now
		{-time.Hour, -time.Hour, 0, true},
		{-time.Hour, -2 * time.Hour, 0, true},
		{time.Hour, 2 * time.Hour, 0, true},
		{0, 0, 0, true},
	} {
		q := reverie.BetweenQuery{From: now.Add(c.from)}
		if c.to != 0 {
			q.To = now.Add(c.to)
		}
		err := q.Until(now)
		if errors.Is(err, reverie.ErrInvalid) != c.bad || err == nil && !q.To.Equal(now.Add(c.want)) {
			t.Errorf("%+v: %v, to %s", c, err, q.To)
		}
	}
	if err := (&reverie.BetweenQuery{To: now}).Until(now); !errors.Is(err, reverie.ErrInvalid) {
		t.Errorf("without a beginning: %v", err)
	}
}
