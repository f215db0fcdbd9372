package scopes_test

import (
	"slices"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/erase"
)

// couple is a group of which another one may be told what Lin says, and that one.
func (h *house) couple(from, to string) *saga {
	h.Helper()
	s := &saga{house: h, persons: map[string]map[string]string{}, made: map[string]string{}, leases: map[string]reverie.Lease{}}
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

// TestWordsOfAnEditor: what somebody else has worded is told as nobody's own words.
func TestWordsOfAnEditor(t *testing.T) {
	s := newHouse(t, "group", nil).couple("from", "to")
	s.meet("from", "Mia")
	figs, tea := s.remember("Lin likes figs", s.say("from", "Lin")), s.remember("Lin likes tea", s.say("from", "Lin"))
	edit := func(m reverie.Memory, w reverie.Words) {
		t.Helper()
		w.Author = "an operator"
		_, err := s.Store.Edit(t.Context(), reverie.Edit{GroupID: "from", MemoryID: m.ID, Action: reverie.ActionUpdate, Reason: "so", Words: w})
		s.check(err)
	}
	edit(figs, reverie.Words{Tags: []string{"food"}})
	edit(tea, reverie.Words{Statement: "Lin owes money", ContentHash: text.ContentHash("Lin owes money")})
	shared, err := s.links.Shared(t.Context(), "to", false)
	s.check(err)
	if len(shared) != 1 || len(shared[0].Facts) != 1 || shared[0].Facts[0].Statement != "Lin likes figs" {
		t.Errorf("told is %+v", shared)
	}
}

// TestOneOfTwoAccounts: a chat in which one person has two accounts is as private as with one.
func TestOneOfTwoAccounts(t *testing.T) {
	s := newHouse(t, "group", nil).couple("from", "to")
	s.remember("Lin likes figs", s.say("from", "Lin"))
	s.want("of one account")
	s.meet("from", "Mia")
	s.want("of two people", "Lin likes figs")
	_, _, err := s.Store.MergeEntities(t.Context(), "from", s.persons["from"]["Lin"], s.persons["from"]["Mia"], "the same")
	s.check(err)
	s.want("of one person")
	s.meet("from", "Ada")
	s.want("of two people again", "Lin likes figs")
}
