package recall

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// chatter is text of a size, in either language.
func chatter(rng *rand.Rand, characters int) string {
	words := []string{"周五", "开会", "绿茶", "projector ", "meeting ", "<b>", "3:30 ", "，", "\n", "👋", "internationalization "}
	var b strings.Builder
	for b.Len() < characters {
		b.WriteString(words[rng.IntN(len(words))])
	}
	return "x" + b.String()
}

// TestBudget: the text never has more tokens than it may; what is left out is
// counted, memories go by rank, and messages are the newest without a gap.
func TestBudget(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for round := range 120 {
		d := someDraft([]string{"zh", "en"}[rng.IntN(2)], "")
		d.reply.MaxTokens = []int{0, 30, 100, 250, 600, 2000, 100_000}[rng.IntN(7)]
		d.memories, d.entities, d.turns = nil, nil, nil
		for i := range rng.IntN(9) {
			d.memories = append(d.memories, reverie.RecallCandidate{ContextMemory: reverie.ContextMemory{MemoryID: fmt.Sprint(i), Statement: chatter(rng, rng.IntN(300))}})
		}
		for i := range rng.IntN(4) {
			d.entities = append(d.entities, reverie.ContextEntity{Subject: fmt.Sprint("E", i), Lines: []string{chatter(rng, 20), chatter(rng, rng.IntN(200))}})
		}
		for i := range rng.IntN(9) {
			d.turns = append(d.turns, reverie.Message{ID: fmt.Sprint(i), Text: chatter(rng, rng.IntN(1+rng.IntN(3000)))})
		}
		if d.summary.Summary = chatter(rng, rng.IntN(2000)); rng.IntN(3) == 0 {
			d.summary = nil
		}
		everything := len(d.memories) + len(d.entities) + len(d.turns)
		if d.summary != nil {
			everything += d.summary.Messages
		}
		d.compose()
		r := d.reply
		if n := text.EstimateTokens(r.Text); n != r.Tokens || n > r.MaxTokens {
			t.Fatalf("round %d: %d tokens are %d of at most %d", round, n, r.Tokens, r.MaxTokens)
		}
		wantBlocks(t, r)
		c := r.Counts
		if c.LongTerm != len(r.Memories) || c.Entities != len(r.Entities) || c.LongTerm+c.Entities+c.ShortTerm+c.Summarized+c.Dropped != everything {
			t.Fatalf("round %d: counts %+v of %d", round, c, everything)
		}
		if r.MaxTokens == 100_000 && c.Dropped > 0 {
			t.Fatalf("round %d: %d left out where there is room for all", round, c.Dropped)
		}
		if r.ShortTerm != nil {
			for i, m := range r.ShortTerm.Turns {
				if want := d.turns[len(d.turns)-len(r.ShortTerm.Turns)+i]; m.MessageID != want.ID {
					t.Fatalf("round %d: message %s stands where %s should", round, m.MessageID, want.ID)
				}
			}
		}
	}
}

// TestShares: short-term memory keeps half of the tokens, however much is
// remembered; it leaves the rest, however much was said; and a long answer pushes out
// neither itself nor what was asked before it.
func TestShares(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	d := someDraft("en", "")
	d.reply.MaxTokens = 800
	d.entities, d.memories = nil, nil
	for i := range 40 {
		d.memories = append(d.memories, reverie.RecallCandidate{ContextMemory: reverie.ContextMemory{MemoryID: fmt.Sprint(i), Statement: chatter(rng, 60)}})
	}
	answer := chatter(rng, 9000)
	d.turns = []reverie.Message{{ID: "q", Role: reverie.RoleUser, Text: "And what did we say of tea?"}, {ID: "a", Role: reverie.RoleAssistant, Text: answer}, {ID: "n", Role: reverie.RoleUser, Text: "Thanks!"}}
	d.compose()
	r := d.reply
	if len(r.Memories) < 4 || r.Counts.Dropped != 40-len(r.Memories) {
		t.Errorf("%d memories, %+v", len(r.Memories), r.Counts)
	}
	if r.ShortTerm == nil || len(r.ShortTerm.Turns) != 3 || r.ShortTerm.Summary == nil {
		t.Fatalf("short-term memory is %+v", r.ShortTerm)
	}
	cut := r.ShortTerm.Turns[1].Text
	if beginning := strings.Join(strings.Fields(answer), " "); !strings.HasSuffix(cut, "…") || len(cut) < 100 || !strings.HasPrefix(beginning, strings.TrimSuffix(cut, "…")) {
		t.Errorf("the answer is cut to %q", cut)
	}
	kept := slices.Collect(func(yield func(string) bool) {
		for _, m := range r.Memories {
			yield(m.MemoryID)
		}
	})
	if kept[0] != "0" || !slices.IsSortedFunc(kept, func(a, b string) int { return len(a) - len(b) }) {
		t.Errorf("memories are not given by rank: %q", kept)
	}
}

// TestHugeMessage: a message of a megabyte costs no more than it has room.
func TestHugeMessage(t *testing.T) {
	d := someDraft("en", "")
	d.turns[1].Text = strings.Repeat("many words ", 90_000)
	d.turns[0].SentAt = time.Time{}
	d.compose()
	if r := d.reply; r.Tokens > 2000 || r.Counts.ShortTerm != 2 || r.Counts.LongTerm != 2 || r.Counts.Summarized != 7 {
		t.Errorf("%d tokens, %+v", r.Tokens, r.Counts)
	}
}
