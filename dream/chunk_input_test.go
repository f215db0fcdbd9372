package dream

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// TestEvidenceOf rests a version on the newest message of as many dates as there is
// room for, then on others.
func TestEvidenceOf(t *testing.T) {
	s := &chunkInput{evidence: map[string][]reverie.Evidence{}}
	var rests []*source
	for l := range 3 {
		lineage := fmt.Sprint("l", l)
		rests = append(rests, &source{head: &reverie.HeadState{Memory: reverie.Memory{LineageID: lineage}}})
		for i := range 5 { // dates 0 to 6, several messages on most, and one that all cite
			day := l + i
			at := evening.AddDate(0, 0, day).Add(time.Duration(l) * time.Minute)
			s.evidence[lineage] = append(s.evidence[lineage], reverie.Evidence{MessageID: fmt.Sprintf("%d.%d", day, l), SentAt: at, LocalDate: text.LocalDate(at, time.UTC)})
		}
		s.evidence[lineage] = append(s.evidence[lineage], reverie.Evidence{MessageID: "all", SentAt: evening.AddDate(0, 0, 9), LocalDate: "2026-01-24"})
	}
	ids := func(list []reverie.Evidence) (ids []string) {
		for _, e := range list {
			ids = append(ids, e.MessageID)
		}
		return ids
	}
	for _, c := range []struct {
		sources int
		want    []string
	}{
		{0, nil},
		{1, []string{"0.0", "1.0", "2.0", "3.0", "4.0", "all"}},
		{3, []string{"0.0", "1.1", "2.2", "3.1", "3.2", "4.0", "4.1", "4.2", "5.1", "5.2", "6.2", "all"}},
	} {
		if got := ids(s.evidenceOf(rests[:c.sources])); !slices.Equal(got, c.want) {
			t.Errorf("%d sources: %q, want %q", c.sources, got, c.want)
		}
	}
}

// TestLately shows what was supported last, in its own order, and nothing that breaks
// a rule of statements.
func TestLately(t *testing.T) {
	var heads []reverie.HeadState
	for i, day := range []int{3, 1, 4, 2} {
		heads = append(heads, reverie.HeadState{Memory: reverie.Memory{Statement: fmt.Sprintf("Lin likes tea number %d", i), LastSupportedAt: evening.AddDate(0, 0, day)}})
	}
	heads = append(heads, reverie.HeadState{Memory: reverie.Memory{Statement: "<b>Lin</b>", LastSupportedAt: evening.AddDate(1, 0, 0)}})
	for _, c := range []struct {
		n, room int
		want    string
	}{{9, 1000, "0123"}, {2, 1000, "02"}, {3, 1000, "023"}, {0, 1000, ""}, {9, 80, "02"}, {9, 0, ""}} {
		got := ""
		for _, h := range latest(heads, c.n, c.room) {
			got += h.Statement[len(h.Statement)-1:]
		}
		if got != c.want {
			t.Errorf("%d of %d tokens: %q, want %q", c.n, c.room, got, c.want)
		}
	}
}
