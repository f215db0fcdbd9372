package reverie

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
)

// ActiveSHA256 names what a group remembers: a hash of lineage, statement, status and
// tags of memories, in whatever order they come. Two sets with the same hash say the
// same, whatever their versions, strengths and weights are.
func ActiveSHA256(memories []Memory) string {
	sorted := slices.SortedFunc(slices.Values(memories), func(a, b Memory) int {
		return cmp.Or(cmp.Compare(a.LineageID, b.LineageID), cmp.Compare(a.Statement, b.Statement), cmp.Compare(a.Status, b.Status), slices.Compare(a.Tags, b.Tags))
	})
	h := sha256.New()
	for _, m := range sorted {
		field(h, m.LineageID)
		field(h, m.Statement)
		field(h, string(m.Status))
		for _, tag := range m.Tags {
			field(h, tag)
		}
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// field adds a text so that where it ends cannot be mistaken.
func field(h hash.Hash, text string) { fmt.Fprintf(h, "%d:%s", len(text), text) }
