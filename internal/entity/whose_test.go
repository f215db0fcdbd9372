package entity

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// knows compares who is known with who should be.
func (w *world) knows(want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.show()); diff != "" {
		w.t.Errorf("-want +got\n%s\nrefused %+v", diff, w.refused)
	}
}

const nothing = `{"none":true}`

// One of two of a name who falls silent is not forgotten: what may be said of
// either is never the other's.
func TestSilentNamesake(t *testing.T) {
	chess := "waits (ambiguous) Alex | plays chess"
	t.Run("both wrote", func(t *testing.T) {
		w := newWorld(t)
		w.night(w.talk("u1 Alex: good evening", "u2 Alex: good evening all", "u3 Bob: Alex plays chess"), says("Alex", "person", "plays chess", "3 Alex plays chess"))
		w.knows("person Alex [u1]", "person Alex [u2]", chess)
		if ids := w.waiting[0].MatchingIDs; len(ids) != 2 {
			t.Errorf("it may be about %v", ids)
		}
		w.heard = nil
		w.night(w.talk("u2 Alex: lovely morning"), nothing)
		w.knows("person Alex [u1]", "person Alex [u2]", chess)
	})
	t.Run("one wrote a night before", func(t *testing.T) {
		w := newWorld(t)
		w.night(w.talk("u1 Alex: good evening"), nothing)
		w.night(w.talk("u2 Alex: good evening all", "u3 Bob: Alex plays chess"), says("Alex", "person", "plays chess", "2 Alex plays chess"))
		w.knows("person Alex [u1]", "person Alex [u2]", chess)
	})
	t.Run("it waits, and one comes back", func(t *testing.T) {
		w := newWorld(t)
		w.night(w.talk("u1 Alex: good evening", "u2 Alex: good evening all"), nothing)
		w.night(w.talk("u3 Bob: Alex plays chess"), says("Alex", "person", "plays chess", "1 Alex plays chess"))
		w.night(w.talk("u2 Alex: lovely morning"), nothing)
		w.night(w.talk("u1 Alex: lovely morning"), nothing)
		if len(w.waiting) != 1 {
			t.Errorf("%q", w.show())
		}
	})
	t.Run("as the target of a relation", func(t *testing.T) {
		w := newWorld(t)
		w.night(w.talk("u1 Alex: hi", "u2 Alex: hi", "u3 Bob: Alex is my brother"), says("Bob", "person", "brother of -> Alex", "3 Alex is my brother"))
		w.heard = nil
		w.night(w.talk("u2 Alex: lovely morning"), nothing)
		w.knows("person Alex [u1]", "person Alex [u2]", "waits (ambiguous) Bob [u3] | brother of: Alex")
	})
}

// What a correction names is looked for under its own key first.
func TestReplacesUnderItsKey(t *testing.T) {
	w := newWorld(t)
	w.night(w.talk("u1 Alex: I live in Porto", "u1 Alex: I was born in Porto"), says("Alex", "person", "city: Porto", "1 I live in Porto")+"\n"+says("Alex", "person", "birthplace: Porto", "2 I was born in Porto"))
	w.night(w.talk("u1 Alex: I moved to Berlin"), `{"subject":"Alex","kind":"person","confidence":0.9,"evidence":[{"message":1,"quote":"I moved to Berlin"}],"features":[{"key":"city","value":"Berlin","replaces":"Porto"}]}`)
	w.knows("person Alex [u1] | birthplace: Porto (self) | city: Berlin (self, v2)")
	w.night(w.talk("u1 Alex: my job is nurse"), says("Alex", "person", "job: nurse", "1 my job is nurse"))
	w.night(w.talk("u1 Alex: I work as a cook"), `{"subject":"Alex","kind":"person","confidence":0.9,"evidence":[{"message":1,"quote":"I work as a cook"}],"features":[{"key":"profession","value":"cook","replaces":"nurse"}]}`)
	w.knows("person Alex [u1] | birthplace: Porto (self) | city: Berlin (self, v2) | profession: cook (self, v2)")
}

// While two are read as one, each keeps its own words and names, so that they part
// as they were.
func TestUnmergeIsExact(t *testing.T) {
	w := newWorld(t)
	w.night(w.talk("u1 Ann: I live in Porto", "u2 Ben: I live in Rome"), says("Ann", "person", "city: Porto", "1 I live in Porto"), says("Ben", "person", "city: Rome", "2 I live in Rome"))
	w.merge("u2", "u1")
	w.night(w.talk("u2 Benny: I like tea", "u2 Benny: call me Benjamin"), says("Benny", "person", "likes tea", "1 I like tea")+"\n"+says("Benny", "person", "aka Benjamin", "2 call me Benjamin"))
	w.night(w.talk("u1 Ann: I moved to Faro", "u1 Ann: I like tea"), says("Ann", "person", "city: Faro", "1 I moved to Faro")+"\n"+says("Ann", "person", "likes tea", "2 I like tea"))
	w.night(w.talk("u2 Ben: I moved to Oslo"), says("Ben", "person", "city: Oslo", "1 I moved to Oslo"))
	w.knows("person Ann [u1 u2] = Ben, Benjamin, Benny | city: Faro (self, v2) | city: Oslo (self, v2) | likes tea (self) | likes tea (self)")
	clear(w.merges)
	w.knows("person Ann [u1] | city: Faro (self, v2) | likes tea (self)", "person Ben [u2] = Benjamin, Benny | city: Oslo (self, v2) | likes tea (self)")
}

// So it is in the database.
func TestUnmergeIsExactWhenStored(t *testing.T) {
	s := newStage(t)
	s.say(evening.Add(-3*time.Hour), line{"u1:Ann", "I live in Porto"}, line{"u2:Ben", "I live in Rome"})
	s.observe()
	ids := s.rows(`select entity_id from entities order by subject`)
	if _, _, err := s.store.MergeEntities(t.Context(), s.group, ids[0], ids[1], "the same"); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"I like tea", "I live in Oslo"} {
		s.now = s.now.Add(day)
		s.say(s.now.Add(-3*time.Hour), line{"u2:Benny", text}, line{"u1:Ann", "I like tea"})
		s.observe()
	}
	if _, _, err := s.store.UnmergeEntity(t.Context(), s.group, ids[1], "not the same"); err != nil {
		t.Fatal(err)
	}
	want := []string{"person Ann [u1] aka  | city: Porto; likes tea", "person Ben [u2] aka Benny | city: Oslo; likes tea"}
	if diff := cmp.Diff(want, s.people()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// What others say does not become, or replace, what a person says.
func TestHearsayIsNobodysOwn(t *testing.T) {
	porto := says("Alex", "person", "city: Porto", "1 I live in Porto")
	t.Run("by assent", func(t *testing.T) {
		w := newWorld(t)
		w.night(w.talk("u1 Alex: I live in Porto"), porto)
		w.night(w.talk("u2 Bob: Alex lives in Berlin", "u1 Alex: haha sure"), says("Alex", "person", "city: Berlin", "1 Alex lives in Berlin", "2 haha sure"))
		w.knows("person Alex [u1] | city: Berlin (others u2) | city: Porto (self)")
		if diff := cmp.Diff([]string{ruleEvidence}, rulesOf(w.refused)); diff != "" {
			t.Errorf("refused %+v", w.refused)
		}
	})
	t.Run("by its confidence", func(t *testing.T) {
		w := newWorld(t)
		w.night(w.talk("u1 Alex: I live in Porto"), porto)
		w.night(w.talk("u2 Bob: Alex lives in Berlin", "u1 Alex: I may move to Berlin one day"), says("Alex", "person", "city: Berlin", "1 Alex lives in Berlin"),
			`{"subject":"Alex","kind":"person","confidence":0.1,"evidence":[{"message":2,"quote":"I may move to Berlin"}],"features":[{"key":"city","value":"Berlin"}]}`)
		w.knows("person Alex [u1] | city: Berlin (others u2) | city: Porto (self)")
	})
	for name, answers := range map[string][]string{
		"by what it corrects": {says("Alex", "person", "likes tea instead of likes coffee", "1 Alex likes tea, not coffee"), says("Alex", "person", "likes tea", "2 I like tea")},
		"in one line":         {says("Alex", "person", "likes tea instead of likes coffee", "1 Alex likes tea, not coffee", "2 I like tea")},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.night(w.talk("u1 Alex: I like coffee"), says("Alex", "person", "likes coffee", "1 I like coffee"))
			w.night(w.talk("u2 Bob: Alex likes tea, not coffee", "u1 Alex: I like tea"), answers...)
			w.knows("person Alex [u1] | likes coffee (self) | likes tea (others u2) | likes tea (self)")
		})
	}
}

// What a nightly run passes by in the middle of a backfill, and what a long chunk
// does, waits until the run's clock says so too.
func TestExpiresByBothClocks(t *testing.T) {
	marta := says("Marta", "person", "sings", "1 Marta sings")
	t.Run("a night within a backfill", func(t *testing.T) {
		w := newWorld(t)
		start := w.at
		w.now = start.AddDate(0, 0, 300)
		w.night(w.talk("u1 Bob: Marta sings"), marta)
		w.at = w.now
		w.night(w.talk("u1 Bob: Marta sings, they say"), marta)
		w.knows("waits (insufficient) Marta | sings", "waits (insufficient) Marta | sings")
		w.at = start.AddDate(0, 0, 1)
		w.night(w.talk("u2 Mia: Marta sings"), marta)
		if len(w.entities) != 1 {
			t.Errorf("%q", w.show())
		}
	})
	t.Run("a long chunk", func(t *testing.T) {
		w := newWorld(t)
		w.night(w.talk("u1 Bob: Marta sings"), marta)
		messages := w.talk("u2 Mia: Marta sings")
		w.at = w.at.AddDate(0, 0, 20)
		w.night(append(messages, w.talk("u1 Bob: good evening")...), marta)
		w.knows("person Marta [] | sings (others u1,u2)")
	})
	t.Run("too long by both", func(t *testing.T) {
		w := newWorld(t)
		w.night(w.talk("u1 Bob: Marta sings"), marta)
		w.at = w.at.AddDate(0, 0, 20)
		if plan := w.night(w.talk("u1 Bob: good evening"), nothing); len(plan.Expired) != 1 || len(w.waiting) != 0 {
			t.Errorf("%+v", plan)
		}
	})
}

// A name that never falls silent does not keep all that was ever said of it.
func TestWaitsNoLongerThanItMay(t *testing.T) {
	w := newWorld(t)
	for i := range 12 {
		text := fmt.Sprintf("Alex has been to city%d", i)
		plan := w.night(w.talk("u1 Alex: good evening", "u2 Alex: good evening all", "u3 Bob: "+text), says("Alex", "person", fmt.Sprintf("has been to city%d", i), "3 "+text))
		if len(w.waiting) != 1 || len(w.waiting[0].Claims) != min(i+1, 2) {
			t.Fatalf("night %d: %q", i, w.show())
		}
		if o := plan.Postponed[0]; len(plan.Joined) != 0 || len(o.Continues) != min(i, 1) {
			t.Errorf("night %d: joined %v, goes on from %v", i, plan.Joined, o.Continues)
		}
		if got := rulesOf(w.refused); (len(got) == 1 && got[0] == ruleExpired) != (i > 1) {
			t.Errorf("night %d: refused %+v", i, w.refused)
		}
		w.at = w.at.Add(8 * 24 * time.Hour)
	}
}

// What becomes part of somebody is joined; what only goes on waiting is not.
func TestJoinedIsPartOfSomebody(t *testing.T) {
	w := newWorld(t)
	w.night(w.talk("u1 Alex: Zoe is my aunt"), says("Alex", "person", "nephew of -> Zoe", "1 Zoe is my aunt"))
	first := w.waiting[0].ID
	plan := w.night(w.talk("u1 Alex: I like tea"), says("Alex", "person", "likes tea", "1 I like tea"))
	if len(plan.Postponed)+len(plan.Joined) != 0 || w.waiting[0].ID != first {
		t.Errorf("it only waits: %+v", plan)
	}
	plan = w.night(w.talk("u1 Alex: Ida is my niece"), says("Alex", "person", "uncle of -> Ida", "1 Ida is my niece"))
	if len(plan.Joined) != 0 || len(plan.Postponed) != 1 || !cmp.Equal(plan.Postponed[0].Continues, []string{first}) {
		t.Errorf("it goes on with another: %+v", plan)
	}
	second := plan.Postponed[0].ID
	plan = w.night(w.talk("u7 Zoe: hello"), nothing)
	if !cmp.Equal(plan.Joined, []string{second}) || len(plan.Postponed) != 1 || plan.Postponed[0].Continues != nil {
		t.Errorf("one of two is somebody's: %+v", plan)
	}
	w.knows("person Alex [u1] | likes tea (self) | nephew of -> Zoe (self)", "person Zoe [u7]", "waits (insufficient) Alex [u1] | uncle of: Ida")
}
