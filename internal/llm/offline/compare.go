package offline

import (
	"errors"
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

// compare answers memory_compare: a statement in the same words is a duplicate, all else
// is unrelated.
func compare(q question) ([]opinion, error) {
	var fact struct {
		Statement string `json:"statement"`
	}
	var candidates []struct {
		ID        string `json:"id"`
		Statement string `json:"statement"`
	}
	if err := errors.Join(q.read("fact", &fact), q.read("candidates", &candidates)); err != nil {
		return nil, err
	}
	var out []opinion
	for _, c := range candidates {
		o := opinion{c.ID, "the words differ", reverie.RelationUnrelated}
		if sameWords(fact.Statement, c.Statement) {
			o.Reason, o.Relation = "the same words", reverie.RelationDuplicate
		}
		out = append(out, o)
	}
	return out, nil
}

// sameWords tells whether two statements are the same but for articles and the like,
// case, width, spaces and punctuation.
func sameWords(a, b string) bool {
	return texts.ContentHash(withoutFillers(a)) == texts.ContentHash(withoutFillers(b))
}

func withoutFillers(statement string) string {
	var kept []string
	for _, w := range strings.Fields(strings.ReplaceAll(statement, "的", "")) {
		if !words().fillers[strings.ToLower(w)] {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, " ")
}
