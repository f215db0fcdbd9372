package recall_test

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/lib/pq"

	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/store/pgtest"
	"reverie/store/teams"
)

// ended has memories end with a status.
func ended(t *testing.T, status reverie.Status, statements ...string) {
	t.Helper()
	db, err := sql.Open("postgres", pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	changed := pgtest.Rows(t, db, `update memories set status = $1, ended_at = now() where statement = any ($2::text[]) returning statement`,
		status, pq.Array(statements))
	if len(changed) != len(statements) {
		t.Fatalf("%q have ended, want %q", changed, statements)
	}
}

// withStatus are the statements of an answer, those that are not active with their status.
func withStatus(list []reverie.SearchResult) (all []string) {
	for _, r := range list {
		if r.Status != reverie.StatusActive {
			r.Statement += " " + string(r.Status)
		}
		all = append(all, r.Statement)
	}
	return all
}

// TestSearchArchived: archived memories that reach the threshold come after all active ones, a team's too, as far as the limit goes.
// Deleted ones are never found.
func TestSearchArchived(t *testing.T) {
	s := &desk{Store: pgtest.New(t)}
	remember(t, s.Store, "g1", reverie.KindGroup, "at 0", "at 10", "at 20", "at 50", "at 80", "gone at 5")
	for _, statement := range []string{"team at 15", "team at 30"} {
		memory := reverie.TeamMemory{ID: reverie.NewID(), Statement: statement, Status: reverie.StatusActive, Strength: 0.9}
		if _, err := teams.New(s.DB()).PutTeamMemory(t.Context(), reverie.TeamWrite{Team: "crew", Memory: memory}); err != nil {
			t.Fatal(err)
		}
	}
	search := &recall.Searcher{Store: s, Embeddings: &plane{key: "plane@3"}, Calibration: reverie.Calibration{Ceiling: 1},
		Teams: recall.TeamRule{On: true, Name: "crew"}}
	if _, err := search.Search(t.Context(), recall.Query{GroupID: "g1", Text: "at 0"}); err != nil { // gives them their vectors
		t.Fatal(err)
	}
	ended(t, reverie.StatusArchived, "at 0", "at 20", "at 80", "team at 15")
	ended(t, reverie.StatusDeprecated, "gone at 5")
	for name, c := range map[string]struct {
		q    recall.Query
		team bool
		want []string
	}{
		"active first": {recall.Query{Threshold: 0.5}, false, []string{"at 10", "at 50", "at 0 archived", "at 20 archived"}},
		"no limit":     {recall.Query{}, false, []string{"at 10", "at 50", "at 0 archived", "at 20 archived", "at 80 archived"}},
		"limit":        {recall.Query{Threshold: 0.5, Limit: 3}, false, []string{"at 10", "at 50", "at 0 archived"}},
		"no room":      {recall.Query{Threshold: 0.5, Limit: 2}, false, []string{"at 10", "at 50"}},
		"room for one": {recall.Query{Threshold: 0.7, Limit: 2}, false, []string{"at 10", "at 0 archived"}},
		"team":         {recall.Query{Threshold: 0.7, Limit: 5}, true, []string{"at 10", "team at 30", "at 0 archived", "team at 15 archived", "at 20 archived"}},
		"kind":         {recall.Query{Threshold: 0.5, Kinds: []reverie.Kind{reverie.KindDream}}, false, nil},
	} {
		search.Teams = recall.TeamRule{On: c.team, Name: "crew"}
		c.q.GroupID, c.q.Text = "g1", "at 0"
		found, err := search.Search(t.Context(), c.q)
		if got := withStatus(found.Reply(c.q).Results); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

// TestSearchArchivedByWords: without vectors archived memories are found by their words, which weigh as among the active ones.
func TestSearchArchivedByWords(t *testing.T) {
	s := &desk{Store: pgtest.New(t)}
	remember(t, s.Store, "g1", reverie.KindGroup, "Lin is allergic to peanuts", "Kim likes peanuts", "The bus is late")
	ended(t, reverie.StatusArchived, "Lin is allergic to peanuts")
	q := recall.Query{GroupID: "g1", Text: "what is Lin allergic to?", Threshold: 0.7, Limit: 5}
	found, err := (&recall.Searcher{Store: s}).Search(t.Context(), q)
	if got := withStatus(found.Reply(q).Results); err != nil || !slices.Equal(got, []string{"Lin is allergic to peanuts archived"}) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestContextArchived: an archived memory is given where it bears on the query and no active one does, and is marked as not current.
func TestContextArchived(t *testing.T) {
	r, _, _ := scene(t)
	if _, err := r.Context(t.Context(), recall.ContextRequest{GroupID: "g1", Query: "at 0"}); err != nil { // gives them their vectors
		t.Fatal(err)
	}
	ended(t, reverie.StatusArchived, "at 90", "dream at 50")
	for query, want := range map[string]string{"what at 120?": "at 90 archived, at 60, team at 40", "what at 0?": "at 0, at 30, team at 40", "what at 200?": ""} {
		reply, err := r.Context(t.Context(), recall.ContextRequest{GroupID: "g1", Query: query})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range reply.Memories {
			if m.Status != reverie.StatusActive {
				m.Statement += " " + string(m.Status)
			}
			got = append(got, m.Statement)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %s", query, got, want)
		}
		note := `"statement":"at 90","note":"archived, last heard 1970-01-01: it may not hold any more"}`
		if strings.Contains(reply.Text, note) != strings.Contains(want, "archived") || strings.Count(reply.Text, "note") != strings.Count(want, "archived") {
			t.Errorf("%s: the text is\n%s", query, reply.Text)
		}
	}
	r.Options.Trigger, r.Options.SemanticThreshold, r.Options.MaxReturn = recall.TriggerSemantic, 0.8, 1
	chinese, err := r.Context(t.Context(), recall.ContextRequest{GroupID: "g1", Query: "几点 at 120？"})
	if err != nil || chinese.Skipped != "" || len(chinese.Memories) != 1 || !strings.Contains(chinese.Text, `"note":"已归档，最后一次听到是 1970-01-01：现在可能不成立"}`) {
		t.Errorf("%+v, %v", chinese, err)
	}
}
