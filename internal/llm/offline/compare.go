package offline

import (
	"slices"
	"strings"

	"reverie/internal/reverie"
	texts "reverie/internal/text"
)

// opinion is one line of the answer to memory_compare.
type opinion struct {
	ID       string           `json:"id"`
	Reason   string           `json:"reason"`
	Relation reverie.Relation `json:"relation"`
}

// compare answers memory_compare: a statement in the same words is a duplicate, all others are unrelated.
func compare(q struct {
	Fact       memory   `json:"fact"`
	Candidates []memory `json:"candidates"`
}) []opinion {
	var out []opinion
	for _, c := range q.Candidates {
		o := opinion{c.ID, "the words differ", reverie.RelationUnrelated}
		if sameWords(q.Fact.Statement, c.Statement) {
			o.Reason, o.Relation = "the same words", reverie.RelationDuplicate
		}
		out = append(out, o)
	}
	return out
}

// sameWords reports whether two statements differ only in articles and similar words, case, width, spaces and
// punctuation.
func sameWords(a, b string) bool {
	return texts.ContentHash(withoutFillers(a)) == texts.ContentHash(withoutFillers(b))
}

func withoutFillers(statement string) string {
	kept := slices.DeleteFunc(strings.Fields(strings.ReplaceAll(statement, "的", "")),
		func(w string) bool { return words().Fillers[strings.ToLower(w)] })
	return strings.Join(kept, " ")
}
