package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

// wantLines compares what was printed with what should be, line by line.
func wantLines(t *testing.T, got, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.Split(strings.TrimPrefix(want, "\n"), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
}

func quote(day int, authorID, author, text string) reverie.Evidence {
	at := time.Date(2026, 1, day, 23, 30, 0, 0, time.UTC)
	return reverie.Evidence{
		AuthorID:  authorID,
		Author:    author,
		Quote:     text,
		SentAt:    at,
		LocalDate: at.AddDate(0, 0, 1).Format(time.DateOnly),
	}
}

func TestEntityPage(t *testing.T) {
	target, at := "id-of-ana", time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	e := reverie.Entity{
		ID:        "id-of-lin",
		Kind:      reverie.EntityPerson,
		Subject:   "Lin",
		Version:   4,
		CreatedAt: at,
		UpdatedAt: at.AddDate(0, 0, 9),
		Names: []reverie.EntityName{
			{EntityID: "id-of-lin", Kind: reverie.NameID, Name: "u7"},
			{EntityID: "id-of-lin", Kind: reverie.NameAlias, Name: "小林", Key: "小林"},
			{EntityID: "other", Kind: reverie.NameAlias, Name: "Linnea", Key: "linnea"},
		},
		Claims: []reverie.Claim{
			{
				Aspect:     reverie.AspectFeature,
				Name:       "city",
				Value:      "Porto",
				Self:       true,
				SaidBy:     []string{"u7"},
				Strength:   0.3,
				Confidence: 0.9,
				Evidence:   []reverie.Evidence{quote(6, "u7", "Lin", "I moved to Porto")},
			},
			{
				Aspect:     reverie.AspectFeature,
				Name:       "city",
				Value:      "Lisbon",
				SaidBy:     []string{"u2", "u3"},
				Strength:   0.657,
				Confidence: 0.7,
				Evidence: []reverie.Evidence{
					quote(5, "u2", "Ana", "Lin lives in Lisbon"),
					quote(1, "u3", "Bo", "one"),
					quote(2, "u3", "Bo\x1b[31m", "two\nlines"),
					quote(3, "u3", "Bobby", "three"),
				},
			},
			{Aspect: reverie.AspectRelation, Name: "brother of", Value: "Ana", TargetID: &target, SaidBy: nil},
			{Aspect: reverie.AspectImpression, Value: "likes climbing", SaidBy: []string{"u9"}},
		},
	}
	var b bytes.Buffer
	show(t, &b, func(con *Console) error { return con.Page("entity", e.Reply()) })
	wantLines(t, b.String(), `
Lin  person  v4
  id         id-of-lin
  also       小林, Linnea
  account    u7
  changed    2026-01-14 12:00 UTC, known since 2026-01-05 12:00
  with       other, which is part of it; `+"`reverie entity unmerge other`"+` parts them
features
  city: Porto
      in their own words; strength 0.30, confidence 0.90
      2026-01-07  Lin: “I moved to Porto”
  city: Lisbon
      Ana and Bobby say; strength 0.66, confidence 0.70
      1 quote before these
      2026-01-03  Bo�[31m: “two lines”
      2026-01-04  Bobby: “three”
      2026-01-06  Ana: “Lin lives in Lisbon”
impressions
  likes climbing
      u9 says; strength 0.00, confidence 0.00
relations
  brother of: Ana (id-of-ana)
      nobody says so any more; strength 0.00, confidence 0.00
`)
}

func TestEntityPageOfOneMerged(t *testing.T) {
	into := "id-of-lin"
	var b bytes.Buffer
	mei := reverie.Entity{ID: "id-of-mei", Kind: reverie.EntityThing, Subject: "年糕", Version: 1, MergedInto: &into}
	show(t, &b, func(con *Console) error { return con.Page("entity", mei.Reply()) })
	wantLines(t, b.String(), `
年糕  thing  v1
  id         id-of-mei
  changed    0001-01-01 00:00 UTC, known since 0001-01-01 00:00
  part of    id-of-lin, which reads as both; `+"`reverie entity unmerge id-of-mei`"+` parts them
nothing is said of it yet
`)
}

func TestEntityHistoryPage(t *testing.T) {
	at, run, other := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC), "run-1", "id-of-mei"
	change := func(action reverie.EntityAction, from, to, reason string) reverie.EntityChange {
		return reverie.EntityChange{
			EntityID:  "id-of-lin",
			Action:    action,
			OldText:   from,
			NewText:   to,
			Reason:    reason,
			RunID:     &run,
			CreatedAt: at,
		}
	}
	merge := change(reverie.EntityMerge, "", "Mei", "same person")
	merge.RunID, merge.OtherID = nil, &other
	self := "id-of-lin"
	back := merge // as the other has it
	back.EntityID, back.OtherID, back.NewText = other, &self, "Lin"
	named := change(reverie.EntityNamed, "", "May", "")
	named.EntityID = other
	claimed := change(reverie.EntityClaimed, "", "city: Lisbon", "Lin says so")
	claimed.Evidence = []reverie.Evidence{quote(5, "u7", "Lin", "I live in Lisbon")}
	version := func(lineage, id string, n int, status reverie.Status, value string) reverie.Claim {
		return reverie.Claim{
			LineageID: lineage,
			ID:        id,
			Version:   n,
			Status:    status,
			Aspect:    reverie.AspectFeature,
			Name:      "city",
			Value:     value,
			UpdatedAt: at,
		}
	}
	r := reverie.NewEntityHistoryReply(
		reverie.Entity{ID: "id-of-lin", Subject: "Lin", Version: 5},
		[]reverie.EntityChange{
			change(reverie.EntityCreated, "", "Lin", ""),
			claimed,
			change(reverie.EntityNamed, "", "小林", ""),
			change(
				reverie.EntityReplaced,
				"city: Lisbon",
				"city: Porto",
				"",
			),
			change(reverie.EntityWithdrawn, "city: Porto", "", ""),
			merge,
			back,
			named,
		},
		[]reverie.Claim{
			version("l1", "c1", 1, reverie.StatusDeprecated, "Lisbon"),
			version("l1", "c2", 2, reverie.StatusActive, "Porto"),
			version("l2", "c3", 1, reverie.StatusActive, "Faro"),
		},
	)
	var b bytes.Buffer
	show(t, &b, func(con *Console) error { return con.EntityHistory(r) })
	wantLines(t, b.String(), `
Lin  id-of-lin  v5
2026-01-05 12:00  create  run run-1
  + Lin
2026-01-05 12:00  claim  run run-1
  + city: Lisbon
      why: Lin says so
      2026-01-06  Lin: “I live in Lisbon”
2026-01-05 12:00  name  run run-1
  + 小林
2026-01-05 12:00  replace  run run-1
  ~ city: [-Lisbon-]{+Porto+}
2026-01-05 12:00  withdraw  run run-1
  - city: Porto
2026-01-05 12:00  merge  by a person
  ~ Mei  id-of-mei
      why: same person
2026-01-05 12:00  name  of id-of-mei run run-1
  + May
what is and was said
  v1  2026-01-05 12:00  c1  deprecated
      city: Lisbon
  v2  2026-01-05 12:00  c2  active
      city: [-Lisbon-]{+Porto+}
  v1  2026-01-05 12:00  c3  active
      city: Faro
`)
}

func TestWaitingPage(t *testing.T) {
	until := time.Date(2026, 2, 5, 1, 0, 0, 0, time.FixedZone("NST", -12600))
	claims := []reverie.ObservedClaim{
		{
			Aspect:   reverie.AspectFeature,
			Name:     "city",
			Value:    "Porto",
			Evidence: []reverie.Evidence{quote(5, "u2", "Ana", "Alex moved to Porto")},
		},
		{Aspect: reverie.AspectImpression, Value: "likes tea"},
	}
	var b bytes.Buffer
	waiting := []reverie.Observation{
		{
			Subject:     "Alex",
			Kind:        reverie.EntityPerson,
			Postponed:   reverie.PostponedAmbiguous,
			MatchingIDs: []string{"a1", "a2"},
			Claims:      claims,
			ExpiresAt:   until,
		},
		{Subject: "Zoë", Kind: reverie.EntityPerson, Postponed: reverie.PostponedInsufficient, ExpiresAt: until},
		{Subject: "Kim", Kind: reverie.EntityPerson, Postponed: reverie.PostponedAmbiguous, ExpiresAt: until},
	}
	show(t, &b, func(con *Console) error { return con.Page("waiting", waiting) })
	wantLines(t, b.String(), `
Alex  person  waits until 2026-02-05
      a name in it fits several: a1, a2; it joins the one that later messages make out, or once `+"`reverie entity merge`"+` says they are one
  city: Porto
      2026-01-06  Ana: “Alex moved to Porto”
  likes tea
Zoë  person  waits until 2026-02-05
      nobody of that name is known, and too little speaks of one; later messages may
Kim  person  waits until 2026-02-05
      a name in it fits several; it joins the one that later messages make out, or once `+"`reverie entity merge`"+` says they are one
`)
}

// show prints a page into b.
func show(t *testing.T, b *bytes.Buffer, page func(con *Console) error) {
	t.Helper()
	if err := page(&Console{Stdout: b}); err != nil {
		t.Fatal(err)
	}
}
