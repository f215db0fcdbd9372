package scopes_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/erase"
)

// couple is a group of which another one may be told what Lin says, and that one.
func (h *house) couple(from, to string) *saga {
	h.Helper()
	s := &saga{house: h, persons: map[string]map[string]string{}, made: map[string]string{}, leases: map[string]reverie.Lease{}, runs: map[string][]string{}}
	for _, g := range []string{from, to} {
		_, err := h.Store.EnsureGroup(h.Context(), reverie.Group{ID: g})
		h.check(err)
		s.leases[g], err = h.Store.AcquireLease(h.Context(), g, reverie.LeaseGroup, "test", time.Hour)
		h.check(err)
		s.groups, s.persons[g] = append(s.groups, g), map[string]string{}
		s.meet(g, "Lin")
	}
	h.check(s.links.Link(h.Context(), reverie.LinkQuery{A: reverie.EntityEnd{GroupID: from, EntityID: s.persons[from]["Lin"]},
		B: reverie.EntityEnd{GroupID: to, EntityID: s.persons[to]["Lin"]}, Platform: true}))
	return s
}

// remember has a run make a fact of messages, and says that it reaches its person.
func (s *saga) remember(statement string, evidence ...reverie.Evidence) reverie.Memory {
	s.Helper()
	from := s.groups[0]
	s.run(from, reverie.JobEvolve, func(run string) error {
		_, err := s.Store.Apply(s.Context(), s.leases[from], reverie.Plan{GroupID: from, RunID: run, ChunkNo: 1, Kind: reverie.KindGroup,
			Steps: []reverie.Step{{Action: reverie.ActionCreate, LineageID: reverie.NewID(), MemoryID: reverie.NewID(), Statement: statement,
				ContentHash: text.ContentHash(statement), Strength: reverie.TentativeStrength, LastSupportedAt: s.now, Evidence: evidence}}})
		return err
	})
	heads := s.heads(from)
	m := heads[slices.IndexFunc(heads, func(m reverie.Memory) bool { return m.Statement == statement })]
	_, err := s.Store.Edit(s.Context(), reverie.Edit{GroupID: from, MemoryID: m.ID, Action: reverie.ActionScope, Reach: reverie.ReachPerson, Reason: "so"})
	s.check(err)
	return m
}

// want says what the other group is told, now and of the past.
func (s *saga) want(what string, statements ...string) {
	s.Helper()
	for _, past := range []bool{false, true} {
		shared, err := s.links.Shared(s.Context(), s.groups[1], past)
		s.check(err)
		var got []string
		for _, of := range shared {
			for _, f := range of.Facts {
				got = append(got, f.Statement)
			}
		}
		if slices.Sort(got); !slices.Equal(got, statements) {
			s.Errorf("%s, past %t: told is %q, want %q", what, past, got, statements)
		}
	}
}

// TestWithdrawnWords: what was made of somebody else's words, too, is not told when those are withdrawn.
func TestWithdrawnWords(t *testing.T) {
	s := newHouse(t, "group", nil).couple("from", "to")
	s.meet("from", "Mia")
	s.meet("from", "Ada")
	lin, more, mia := s.say("from", "Lin"), s.say("from", "Lin"), s.say("from", "Mia")
	s.remember("Lin likes figs", lin)
	s.remember("Lin likes tea", lin, mia)
	s.remember("Lin swims", lin, more)
	s.want("at first", "Lin likes figs", "Lin swims")
	e, other := erase.New(s.Store.DB()), "never mind"
	_, err := e.NoteChanges(t.Context(), "from", []reverie.MessageChange{{ID: mia.MessageID, Text: &other, EditedAt: s.now},
		{ID: more.MessageID, Text: &other, EditedAt: s.now}})
	s.check(err)
	s.check(e.ApplyChanges(t.Context(), s.leases["from"]))
	s.want("while one of hers waits to be judged again", "Lin likes figs")
	_, err = s.db.Exec(`delete from rejudgements where group_id = 'from'`)
	s.check(err)
	s.want("when nothing waits", "Lin likes figs", "Lin swims")
}

// TestWordsOfNobody: what an editor or another system has worded is told as nobody's own words, also where a run
// has reworded it since by the person's messages.
func TestWordsOfNobody(t *testing.T) {
	s := newHouse(t, "group", nil).couple("from", "to")
	s.meet("from", "Mia")
	s.meet("from", "Ada")
	figs, tea := s.remember("Lin likes figs", s.say("from", "Lin")), s.remember("Lin likes tea", s.say("from", "Lin"))
	owes, rome := "Lin owes money", "Lin lives in Rome"
	edit := func(e reverie.Edit) reverie.Memory {
		t.Helper()
		e.GroupID, e.Reason = "from", "so"
		m, err := s.Store.Edit(t.Context(), e)
		s.check(err)
		return m
	}
	edit(reverie.Edit{MemoryID: figs.ID, Action: reverie.ActionUpdate, Words: reverie.Words{Tags: []string{"food"}, Author: "an operator"}})
	tea = edit(reverie.Edit{MemoryID: tea.ID, Action: reverie.ActionUpdate,
		Words: reverie.Words{Statement: owes, ContentHash: text.ContentHash(owes), Author: "an operator"}})
	brought := edit(reverie.Edit{Action: reverie.ActionCreate, Imported: reverie.Imported{System: "mem0", SaidAt: s.now},
		Words: reverie.Words{Statement: rome, ContentHash: text.ContentHash(rome)}})
	edit(reverie.Edit{MemoryID: brought.ID, Action: reverie.ActionScope, Reach: reverie.ReachPerson})
	now := func(what string) {
		t.Helper()
		shared, err := s.links.Shared(t.Context(), "to", false)
		s.check(err)
		if len(shared) != 1 || len(shared[0].Facts) != 1 || shared[0].Facts[0].Statement != "Lin likes figs" {
			t.Errorf("%s: told is %+v", what, shared)
		}
	}
	now("worded by others")
	for _, m := range []reverie.Memory{tea, brought} {
		s.apply("from", reverie.Step{Action: reverie.ActionKeep, LineageID: m.LineageID, Head: reverie.Head{MemoryID: m.ID, Version: m.Version},
			Strength: 0.51, LastSupportedAt: s.now, Evidence: []reverie.Evidence{s.say("from", "Lin")}})
	}
	now("borne out by the person")
	for _, m := range []reverie.Memory{tea, brought} {
		more := m.Statement + " indeed"
		s.apply("from", reverie.Step{Action: reverie.ActionUpdate, LineageID: m.LineageID, Head: reverie.Head{MemoryID: m.ID, Version: m.Version},
			MemoryID: reverie.NewID(), Statement: more, ContentHash: text.ContentHash(more), Strength: 0.51, LastSupportedAt: s.now,
			Evidence: []reverie.Evidence{s.say("from", "Lin")}})
	}
	now("reworded by a run")
}

// TestTwoPeople: a chat of two people is private while nobody says otherwise, whatever it came from and however many
// accounts they have.
func TestTwoPeople(t *testing.T) {
	s := newHouse(t, "group", nil).couple("from", "to")
	s.remember("Lin likes figs", s.say("from", "Lin"))
	s.want("of one account")
	s.meet("from", "Mia")
	s.want("of two people")
	s.meet("from", "Ada")
	s.want("of three", "Lin likes figs")
	_, _, err := s.Store.MergeEntities(t.Context(), "from", s.persons["from"]["Lin"], s.persons["from"]["Mia"], "the same")
	s.check(err)
	s.want("of two people with three accounts")
	off := "off"
	_, err = s.Store.ChangeGroup(t.Context(), "from", reverie.GroupChange{Private: &off}, time.Time{})
	s.check(err)
	s.want("as an operator says", "Lin likes figs")
}

// TestManyGroups: a group is linked with 200 others at most, by as many people as there are.
func TestManyGroups(t *testing.T) {
	s := newHouse(t, "group", nil).couple("from", "to")
	_, err := s.db.Exec(`insert into entity_links (group_id, entity_id, other_group_id, other_entity_id, proved, created_at)
		select 'from', $1, 'other' || n, gen_random_uuid(), false, now() from generate_series(1, 199) n`, s.persons["from"]["Lin"])
	s.check(err)
	s.meet("from", "Mia")
	s.meet("to", "Mia")
	end := func(group, name string) reverie.EntityEnd {
		return reverie.EntityEnd{GroupID: group, EntityID: s.persons[group][name]}
	}
	s.check(s.links.Link(t.Context(), reverie.LinkQuery{A: end("from", "Mia"), B: end("to", "Mia"), Platform: true}))
	_, err = s.Store.EnsureGroup(t.Context(), reverie.Group{ID: "more"})
	s.check(err)
	s.leases["more"], err = s.Store.AcquireLease(t.Context(), "more", reverie.LeaseGroup, "test", time.Hour)
	s.check(err)
	s.persons["more"] = map[string]string{}
	s.meet("more", "Lin")
	for _, q := range []reverie.LinkQuery{{A: end("from", "Lin"), B: end("more", "Lin"), Platform: true}, {A: end("more", "Lin"), B: end("from", "Lin"), Platform: true}} {
		if err = s.links.Link(t.Context(), q); !errors.Is(err, reverie.ErrConflict) || !strings.Contains(err.Error(), "is linked with 200 groups") {
			t.Errorf("one group more: %v", err)
		}
	}
}
