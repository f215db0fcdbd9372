package recall_test

import (
	"slices"
	"testing"

	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/store/teams"
)

// TestTeam: a search and a context of a group include its team's memories, ranked like
// its own; nobody else's do. What is a team's is not logged.
func TestTeam(t *testing.T) {
	r, d, _ := scene(t)
	for team, statement := range map[string]string{"crew": "crew at 10", "rival": "rival at 0"} {
		if _, err := teams.New(d.DB()).PutTeamMemory(t.Context(), reverie.TeamWrite{Team: team, Memory: reverie.TeamMemory{ID: reverie.NewID(), Statement: statement,
			Status: reverie.StatusActive, Strength: 0.9}}); err != nil {
			t.Fatal(err)
		}
	}
	r.Searcher.Teams = recall.TeamRule{On: true, Name: "crew"}
	ask := recall.Query{GroupID: "g1", Text: "at 0", Limit: 3}
	for team, found := range map[string]bool{"": true, "crew": true, "off": false, "rival": false} {
		if _, err := d.ChangeGroup(t.Context(), "g1", reverie.GroupChange{Team: &team}, now); err != nil {
			t.Fatal(err)
		}
		res, err := r.Searcher.Search(t.Context(), ask)
		hits := res.Hits
		if err != nil || len(hits) != 3 {
			t.Fatalf("team %q: %d hits, %v", team, len(hits), err)
		}
		if got := slices.ContainsFunc(hits, func(h reverie.Hit) bool { return h.Statement == "crew at 10" }); got != found {
			t.Errorf("team %q: found is %v", team, got)
		}
		if got := slices.ContainsFunc(hits, func(h reverie.Hit) bool { return h.Statement == "rival at 0" }); got != (team == "rival") {
			t.Errorf("team %q: the rival's is found: %v", team, got)
		}
		d.state.Group = reverie.Group{ID: "g1", Team: team}
		reply, err := r.Context(t.Context(), recall.ContextRequest{GroupID: "g1", SessionID: "s1", Query: "at 0"})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(reply.Memories, func(m reverie.ContextMemory) bool { return m.Statement == "crew at 10" && m.Kind == reverie.KindTeam }); got != found {
			t.Errorf("team %q: offered is %v of %v", team, got, offered(reply))
		}
		if err := r.Usage.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		rows, err := d.Offered(t.Context(), reverie.UsageQuery{GroupID: "g1", UsageID: reply.UsageID})
		if err != nil || len(rows) == 0 {
			t.Fatalf("%d uses, %v", len(rows), err)
		}
		for _, row := range rows {
			if row.Statement == "crew at 10" || row.Statement == "rival at 0" {
				t.Errorf("the use of a team's memory is logged: %+v", row)
			}
		}
	}
	for name, rule := range map[string]recall.TeamRule{"off": {Name: "crew"}, "the team itself": {On: true, Name: "crew"}} {
		r.Searcher.Teams = rule
		q := ask
		if name != "off" {
			q.GroupID, q.Limit = "team:crew", 0
		}
		res, err := r.Searcher.Search(t.Context(), q)
		hits := res.Hits
		n := len(slices.DeleteFunc(hits, func(h reverie.Hit) bool { return h.Statement != "crew at 10" }))
		if want := map[string]int{"off": 0, "the team itself": 1}[name]; err != nil || n != want {
			t.Errorf("%s: %d times, %v", name, n, err)
		}
	}
}
