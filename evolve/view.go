package evolve

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/prompts"
)

// views turns memories and messages into what the model sees.
type views struct {
	loc     *time.Location
	handles map[string]int // message id -> number, for replies
}

// memory shows a memory as m1..mN. A version may have been written long after
// its evidence (a backfill); its dates then are those of the evidence, or the
// model would read it as coming from the future.
func (v views) memory(i int, h reverie.HeadState, stale bool) prompts.MemoryView {
	supported := h.LastSupportedAt
	date := func(t time.Time) string {
		if supported.Before(t) {
			t = supported
		}
		return text.LocalDate(t, v.loc)
	}
	return prompts.MemoryView{
		ID: "m" + strconv.Itoa(i+1), Statement: h.Statement, Version: h.Version,
		CreatedAt: date(h.CreatedAt), UpdatedAt: date(h.UpdatedAt), LastSupportedAt: date(supported),
		Strength: float64(int(h.Strength*100+0.5)) / 100, Stale: stale,
	}
}

// message shows a message as number n.
func (v views) message(n int, m reverie.Message) prompts.MessageView {
	return prompts.Message(n, v.handles[m.ReplyTo], m, v.loc)
}

// newestWithin returns the newest messages to show that fit the budget, oldest
// first.
func newestWithin(messages []reverie.Message, budget int, v views) []reverie.Message {
	chosen := slices.DeleteFunc(slices.Clone(messages), func(m reverie.Message) bool { return !m.Speaks() })
	start := len(chosen)
	for start > 0 {
		if budget -= prompts.Tokens(v.message(0, chosen[start-1])); budget < 0 {
			break
		}
		start--
	}
	return chosen[start:]
}

// rank puts the memories named first in front, then those supported last, and
// cuts after limit; what is left keeps its order of age, so that the same
// memories are shown the same way.
func rank(heads []reverie.HeadState, first []string, limit int) []reverie.HeadState {
	place := make(map[string]int, len(first))
	for i, id := range first {
		place[id] = len(first) - i
	}
	chosen := slices.Clone(heads)
	slices.SortStableFunc(chosen, func(a, b reverie.HeadState) int {
		return cmp.Or(cmp.Compare(place[b.ID], place[a.ID]), b.LastSupportedAt.Compare(a.LastSupportedAt))
	})
	keep := make(map[string]bool, limit)
	for _, h := range chosen[:min(limit, len(chosen))] {
		keep[h.ID] = true
	}
	return slices.DeleteFunc(slices.Clone(heads), func(h reverie.HeadState) bool { return !keep[h.ID] })
}

// Probes of a chunk: few and long, since one request embeds them all.
const (
	maxPieces   = 8
	maxPieceLen = 2000 // bytes
)

// pieces cuts the chunk's texts into at most maxPieces runs of messages.
func pieces(messages []reverie.Message) []string {
	var texts []string
	for _, m := range messages {
		if m.Speaks() {
			texts = append(texts, m.Text)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	var out []string
	for part := range slices.Chunk(texts, (len(texts)+maxPieces-1)/maxPieces) {
		out = append(out, text.Excerpt(strings.Join(part, "\n"), maxPieceLen))
	}
	return out
}

// render fills the prompt with the sheet.
func (r *run) render(s *sheet) (prompts.Rendered, error) {
	v := views{loc: s.loc, handles: map[string]int{}}
	user := prompts.EvolveUser{WindowUntil: s.asOf.In(s.loc).Format(time.RFC3339),
		ExistingMemories: []prompts.MemoryView{}, NewDiscussions: []prompts.MessageView{}}
	shown := len(s.shown)
	for i, h := range s.shown {
		view := v.memory(i, h, s.stale(h))
		if i < s.judging {
			if view.JudgeAgain, view.Held = h.JudgeAgain, h.Held(); s.language == prompts.Chinese {
				view.JudgeAgain = reverie.JudgeReasonChinese(h.JudgeAgain)
			}
		}
		if h.Held() {
			shown--
		}
		user.ExistingMemories = append(user.ExistingMemories, view)
	}
	for i, m := range s.messages() {
		v.handles[m.ID] = i + 1
	}
	for i, m := range s.fresh {
		user.NewDiscussions = append(user.NewDiscussions, v.message(i+1, m))
	}
	for i, m := range s.earlier {
		user.EarlierDiscussions = append(user.EarlierDiscussions, v.message(len(s.fresh)+i+1, m))
	}
	return r.Prompts.Evolve(s.language, prompts.EvolveSystem{
		Active: len(s.state.Heads), Shown: shown, JudgeAgain: s.judging, Target: r.Limits.Target, MaxCreates: s.createsLeft,
		MaxStatement: reverie.MaxStatement, StaleDays: int(s.staleAfter.Hours() / 24),
	}, user)
}

// messages are all that have a number, from 1, in order.
func (s *sheet) messages() []reverie.Message {
	return append(slices.Clip(s.fresh), s.earlier...)
}
