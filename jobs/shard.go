package jobs

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"reverie/internal/reverie"
)

// Shard is one of Count parts of all groups, so that several processes share
// them. The zero Shard is all of them.
type Shard struct {
	Index int // counts from 0, as Kubernetes' completion index does
	Count int
}

// maxShards bounds Count: beyond it something else is meant.
const maxShards = 10_000

// ParseShard reads "2/8": the third of eight parts. Its errors are
// [reverie.ErrInvalid] and say what to write.
func ParseShard(text string) (Shard, error) {
	index, count, found := strings.Cut(text, "/")
	i, err := strconv.ParseUint(index, 10, 31)
	n, err2 := strconv.ParseUint(count, 10, 31)
	switch {
	case !found || err != nil || err2 != nil:
		return Shard{}, fmt.Errorf("shard %q: %w: write INDEX/COUNT, such as 0/8", text, reverie.ErrInvalid)
	case n == 0 || n > maxShards:
		return Shard{}, fmt.Errorf("shard %q: %w: the count must be 1 to %d", text, reverie.ErrInvalid, maxShards)
	case i >= n:
		return Shard{}, fmt.Errorf("shard %q: %w: the index counts from 0: write 0/%d to %d/%d", text, reverie.ErrInvalid, n, n-1, n)
	}
	return Shard{Index: int(i), Count: int(n)}, nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Count) }

// Has tells whether a group belongs to the shard: the first eight bytes of the
// SHA-256 of its id, as a big-endian number, modulo Count. Which shard has a
// group never changes while Count stays the same.
func (s Shard) Has(groupID string) bool {
	if s.Count <= 1 {
		return true
	}
	sum := sha256.Sum256([]byte(groupID))
	return binary.BigEndian.Uint64(sum[:])%uint64(s.Count) == uint64(s.Index)
}
