package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"reverie/internal/reverie"
)

// A night of many groups asks PostgreSQL no more than it does now, by group: one round
// trip more is one for each of thousands, and where the database is a network away each
// is waited for. Its night lies long back, so that its dates are looked through, and it was
// never leased before: that is some four round trips more than on the night after another.
func TestTripsOfANight(t *testing.T) {
	s := newStage(t)
	groups := crowdOf(40, 1)
	s.settle(groups, func(string, int) []string {
		return []string{"note Chess is on Mondays", "The printer is broken", "note Ann moved to Lisbon"}
	})
	s.model.Respond(scribe(t))
	wire := newCountingProxy(t, s.url)
	s.set("REVERIE_DATABASE_URL="+wire.url, "REVERIE_EMBED_PROVIDER=offline", "REVERIE_DATABASE_MAX_CONNS=1") // one prepares all, once
	s.run("evolve", "--due", "--json").want(t, 0)
	got, n := wire.counted(), int64(len(groups.groups))
	each := func(count int64) float64 { return float64(count) / float64(n) }
	const trips, statements, commits = 18, 48, 4
	t.Logf("of a group: %.1f round trips, %.1f statements, %.1f commits that the disk is waited for", each(got.trips), each(got.statements), each(got.commits))
	if got.trips > trips*n || got.statements > statements*n || got.commits > commits*n+n/4 || got.commits < n {
		t.Errorf("at most %d round trips, %d statements and %d commits", trips, statements, commits)
		for text, times := range wire.texts {
			if times >= len(groups.groups) {
				t.Logf("%.1f a group: %.100s", each(int64(times)), text)
			}
		}
	}
}

// A context asks no more than it does now, whether the reader's role confines it or not.
func TestTripsOfAContext(t *testing.T) {
	s := newStage(t)
	groups := crowdOf(1, 1)
	s.settle(groups, func(string, int) []string { return []string{"note Chess is on Mondays"} })
	for role, most := range map[string]int64{"": 4, "reverie_reader": 4} {
		wire := newCountingProxy(t, s.url)
		_, base := s.serve([]string{"REVERIE_DATABASE_URL=" + wire.url, "REVERIE_EMBED_PROVIDER=offline",
			"REVERIE_DATABASE_READER_ROLE=" + role, "REVERIE_DATABASE_MAX_CONNS=1"}, "serve")
		ask1 := func() {
			_, err := ask[reverie.ContextReply](t.Context(), http.MethodPost, base+"/v1/groups/"+url.PathEscape(groups.groups[0])+"/context",
				strings.NewReader(`{"query":"when is chess?"}`))
			if err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			ask1()
		}
		before := wire.counted()
		ask1()
		got := wire.counted().minus(before)
		t.Logf("%q: %d round trips, %d statements", role, got.trips, got.statements)
		if got.trips > most {
			t.Errorf("at most %d", most)
			for text, n := range wire.texts {
				t.Logf("%d %.90s", n, text)
			}
		}
	}
}
