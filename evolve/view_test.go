package evolve

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/prompts"
)

// TestMemoryView dates a memory by its evidence where its versions were written
// later, as in a backfill: nothing may seem to come from the future.
func TestMemoryView(t *testing.T) {
	zone := time.FixedZone("", 8*3600)
	h := paperMemory{Statement: "One.", Version: 3, Strength: 0.657}.head(1, evening)
	h.CreatedAt, h.UpdatedAt = evening.Add(-90*day), evening.Add(-80*day)
	h.LastSupportedAt = time.Date(2026, 1, 14, 16, 30, 0, 0, time.UTC) // the 15th in the group's zone
	got := memoryView(4, h, "its date has passed", zone)
	if got.ID != "m5" || got.CreatedAt != "2025-10-17" || got.UpdatedAt != "2025-10-27" || got.LastSupportedAt != "2026-01-15" || got.Strength != 0.66 || got.Stale == "" || got.Version != 3 {
		t.Errorf("%+v", got)
	}
	h.CreatedAt, h.UpdatedAt = evening.Add(90*day), evening.Add(91*day) // written long after what it rests on
	if got := memoryView(0, h, "", zone); got.CreatedAt != "2026-01-15" || got.UpdatedAt != "2026-01-15" {
		t.Errorf("%+v", got)
	}
}

// TestMessageView shows the beginning of what is too long.
func TestMessageView(t *testing.T) {
	m := paperMessage{Text: strings.Repeat("一段很长的话。", 2000)}.message(1, evening)
	got := prompts.Message(7, 0, m, time.UTC)
	if n := utf8.RuneCountInString(got.Text); n != prompts.MaxText || !strings.HasSuffix(got.Text, "…") || got.ID != 7 || got.Time != "2026-01-15T11:00:00Z" {
		t.Errorf("%d characters, %+v", n, got.Time)
	}
}

// TestRank shows the memories named first and then those supported last, in the
// order of their age.
func TestRank(t *testing.T) {
	var heads []reverie.HeadState
	for n := range 6 {
		h := paperMemory{Statement: fmt.Sprint(n), Supported: evening.Add(time.Duration(-(n*7)%6) * day)}.head(n, evening)
		heads = append(heads, h)
	}
	for _, c := range []struct {
		first []string
		limit int
		want  []int
	}{
		{nil, 6, []int{0, 1, 2, 3, 4, 5}},
		{nil, 2, []int{0, 1}},
		{[]string{memoryID(5), memoryID(3)}, 2, []int{3, 5}},
		{[]string{memoryID(5), memoryID(3)}, 1, []int{5}},
		{[]string{memoryID(4)}, 3, []int{0, 1, 4}},
		{[]string{memoryID(99)}, 2, []int{0, 1}},
		{nil, 9, []int{0, 1, 2, 3, 4, 5}},
	} {
		var got []int
		for _, h := range rank(heads, c.first, c.limit) {
			got = append(got, slices.IndexFunc(heads, func(o reverie.HeadState) bool { return o.ID == h.ID }))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("first %q, limit %d: %v, want %v", c.first, c.limit, got, c.want)
		}
	}
}

// TestPieces are few, in order, and leave nothing to be shown out.
func TestPieces(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 9, 200} {
		var messages []reverie.Message
		for i := range n {
			messages = append(messages, paperMessage{Text: fmt.Sprintf("word%d", i)}.message(i, evening), paperMessage{Text: "42", Role: reverie.RoleTool}.message(i, evening))
		}
		got := pipeline.Probes(messages)
		words := strings.Fields(strings.Join(got, " "))
		if len(got) > pipeline.MaxProbes || len(words) != n || n > 0 && words[n-1] != fmt.Sprintf("word%d", n-1) {
			t.Errorf("%d messages: %d probes of %d words", n, len(got), len(words))
		}
	}
	if got := pipeline.Probes([]reverie.Message{paperMessage{Text: strings.Repeat("x", 1<<20)}.message(1, evening)}); len(got) != 1 || len(got[0]) > pipeline.MaxProbeLen+8 {
		t.Errorf("a long message makes %d probes", len(got))
	}
}

// TestNewestWithin leaves out what is never shown before it counts.
func TestNewestWithin(t *testing.T) {
	tool := paperMessage{Text: strings.Repeat("output ", 5000), Role: reverie.RoleTool}
	var messages []reverie.Message
	for i := range 4 {
		messages = append(messages, paperMessage{Text: fmt.Sprintf("remark %d", i)}.message(i, evening), tool.message(10+i, evening))
	}
	each := prompts.Tokens(prompts.Message(0, 0, messages[0], time.UTC))
	for budget, want := range map[int]int{0: 0, -5: 0, each - 1: 0, each: 1, 3*each + 1: 3, 100 * each: 4} {
		got := newestWithin(nil, messages, budget, time.UTC)
		if len(got) != want || want > 0 && got[want-1].Text != "remark 3" {
			t.Errorf("budget %d: %d messages, want %d", budget, len(got), want)
		}
	}
}

// TestHoldBorder goes to the border of what passes without a person, for groups
// of every size: more than a fifth, and more than two, is held, and so is all of
// a group of one or two.
func TestHoldBorder(t *testing.T) {
	for base := 0; base <= 60; base++ {
		for touched := 1; touched <= base && touched <= 15; touched++ {
			plan := reverie.Plan{RunID: paperRun}
			var heads []reverie.HeadState
			for n := range touched {
				heads = append(heads, paperMemory{Statement: fmt.Sprint(n)}.head(n, evening))
				plan.Steps = append(plan.Steps, reverie.Step{Action: reverie.ActionDelete, LineageID: lineageID(n)})
			}
			want := touched > 2 && touched*5 > base || base <= 2 && touched >= base
			holdMassChange(&plan, reverie.Stats{Base: base}, heads, limits())
			if plan.HeldAll != want || (len(plan.Steps) == 0) != want {
				t.Fatalf("%d of %d: held %v", touched, base, plan.HeldAll)
			}
		}
	}
}
