package pipeline

import (
	"cmp"
	"slices"
	"strings"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Shown returns the messages that a model may see.
func Shown(messages []reverie.Message) []reverie.Message {
	return slices.DeleteFunc(slices.Clone(messages), func(m reverie.Message) bool { return !m.Speaks() })
}

// Texts returns the texts of messages.
func Texts(messages []reverie.Message) []string {
	return text.Each(messages, func(m reverie.Message) string { return m.Text })
}

// IDs returns the ids of messages.
func IDs(messages []reverie.Message) []string {
	return text.Each(messages, func(m reverie.Message) string { return m.ID })
}

// First returns at most limit heads: the first ones by order, and among equals the ones supported last. They stay in
// their given order, so that the same heads are always shown the same way.
func First(heads []reverie.HeadState, limit int, order func(a, b reverie.HeadState) int) []reverie.HeadState {
	chosen := slices.Clone(heads)
	slices.SortStableFunc(chosen, func(a, b reverie.HeadState) int {
		return cmp.Or(order(a, b), b.LastSupportedAt.Compare(a.LastSupportedAt))
	})
	keep := make(map[string]bool, limit)
	for _, h := range chosen[:min(limit, len(chosen))] {
		keep[h.ID] = true
	}
	return slices.DeleteFunc(slices.Clone(heads), func(h reverie.HeadState) bool { return !keep[h.ID] })
}

// Probes are few and long, because one request embeds all of a chunk.
const (
	MaxProbes   = 8
	MaxProbeLen = 2000 // characters
)

// Probes joins the texts of the messages that are shown into at most [MaxProbes].
func Probes(messages []reverie.Message) (list []string) {
	texts := Texts(Shown(messages))
	if len(texts) == 0 {
		return nil
	}
	for part := range slices.Chunk(texts, (len(texts)+MaxProbes-1)/MaxProbes) {
		list = append(list, text.Excerpt(strings.Join(part, "\n"), MaxProbeLen))
	}
	return list
}

// Cited returns the messages that the steps cite.
func Cited(steps ...[]reverie.Step) map[string]bool {
	cited := map[string]bool{}
	for _, step := range slices.Concat(steps...) {
		for _, e := range step.Evidence {
			cited[e.MessageID] = true
		}
	}
	return cited
}

// Outcomes returns the outcome of each message: cited, shown but not cited, or not shown.
func Outcomes(messages []reverie.Message, cited map[string]bool) map[string]reverie.Outcome {
	outcomes := make(map[string]reverie.Outcome, len(messages))
	for _, m := range messages {
		switch {
		case cited[m.ID]:
			outcomes[m.ID] = reverie.OutcomeCited
		case m.Speaks():
			outcomes[m.ID] = reverie.OutcomeConsidered
		default:
			outcomes[m.ID] = reverie.OutcomeFiltered
		}
	}
	return outcomes
}

// CountOutcomes adds the outcomes of messages to the counts of a run.
func CountOutcomes(st *reverie.Stats, messages []reverie.Message, outcomes map[string]reverie.Outcome) {
	for _, m := range messages {
		if m.Cut && outcomes[m.ID] != "" && outcomes[m.ID] != reverie.OutcomeFiltered {
			st.Cut++
		}
	}
	for _, o := range outcomes {
		switch o {
		case reverie.OutcomeCited:
			st.Cited++
		case reverie.OutcomeConsidered:
			st.Considered++
		case reverie.OutcomeFiltered:
			st.Filtered++
		}
	}
}
