//go:build torture

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"reverie/internal/llm/llmtest"
)

// embedsOnline has vectors made by the model server of a stage, which sees what is asked.
const embedsOnline = "REVERIE_EMBED_PROVIDER=openai"

// embeddingModel names the vectors of that server in the ledger.
const embeddingModel = "text-embedding-3-small"

// embedsOnline lets the stage, and each double of it, be billed for vectors.
func (s *stage) embedsOnline() {
	s.set(embedsOnline, "REVERIE_EMBED_BASE_URL="+s.model.URL("openai"), "REVERIE_EMBED_API_KEY=key", "REVERIE_EMBED_MODEL="+embeddingModel, "REVERIE_EMBED_DIMENSIONS=64")
}

// bill is what was asked of the server for vectors, and what the database knows of it.
type bill struct {
	asked   []llmtest.Request
	written int      // calls, in the ledger
	kept    []string // vectors, by the hash of their text
}

func (s *stage) bill() (b bill) {
	s.t.Helper()
	for _, r := range s.model.Requests() {
		if r.Embedding() {
			b.asked = append(b.asked, r)
		}
	}
	n, err := strconv.Atoi(s.one(`select count(*) from llm_calls where model = $1`, embeddingModel))
	if err != nil {
		s.t.Fatal(err)
	}
	b.written, b.kept = n, s.rows(`select content_hash from embedding_cache where model = $1`, embeddingModel+"@64")
	return b
}

// wrong is what is wrong with the bill for what was done since another, when that many
// calls at most were under way and not written down: each call is a row, and no text is
// asked for twice, nor one whose vector was kept.
func (b bill) wrong(before bill, underway int) (wrong []string) {
	asked := b.asked[len(before.asked):]
	if lost := len(asked) - (b.written - before.written); lost < 0 || lost > underway {
		wrong = append(wrong, fmt.Sprintf("vectors were asked for %d times, and %d calls are written down", len(asked), b.written-before.written))
	}
	known := slices.Clone(before.kept)
	for _, r := range asked {
		for _, text := range r.Texts {
			sum := sha256.Sum256([]byte(text))
			hash := hex.EncodeToString(sum[:])
			if slices.Contains(known, hash) {
				wrong = append(wrong, fmt.Sprintf("the vector of %q was there, and was asked for again", text))
			}
			known = append(known, hash)
		}
	}
	return wrong
}
