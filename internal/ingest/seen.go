package ingest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"

	"reverie/internal/reverie"
)

// maxSeen is how many messages of an import are remembered at least: the last ones. For one that comes again
// after more of them its id alone counts.
const maxSeen = 1 << 20

// seen remembers the messages of an import: by a hash of group and id, a hash of what each says. The zero
// value is ready.
type seen struct{ now, before map[uint64]uint64 }

// apart gives a message an id of its own where another message of the import has its id, and tells whether it
// was the first to get that one. What says nothing, as a message that was taken back, is no other one. The id
// follows from what the message says, so that the next import of it finds it known.
func (s *seen) apart(m *reverie.Message) bool {
	said := sha256.Sum256([]byte(strings.Join([]string{m.AuthorID, m.SentAt.UTC().Format(time.RFC3339Nano), m.Text}, "\x00")))
	if s.first(m, said) || m.Text == "" {
		return false
	}
	suffix := "~" + hex.EncodeToString(said[:8])
	m.ID = strings.ToValidUTF8(m.ID[:min(len(m.ID), reverie.MaxMessageIDLength-len(suffix))], "") + suffix
	_, again := s.find(m)
	s.first(m, said)
	return !again
}

// first tells whether a message is the first of its id, or says the same as that one.
func (s *seen) first(m *reverie.Message, said [sha256.Size]byte) bool {
	sum := binary.LittleEndian.Uint64(said[:])
	if known, found := s.find(m); found {
		return known == sum
	}
	if s.now == nil || len(s.now) >= maxSeen {
		s.now, s.before = map[uint64]uint64{}, s.now
	}
	s.now[keyOf(m)] = sum
	return true
}

func (s *seen) find(m *reverie.Message) (said uint64, found bool) {
	key := keyOf(m)
	if said, found = s.now[key]; !found {
		said, found = s.before[key]
	}
	return said, found
}

func keyOf(m *reverie.Message) uint64 {
	sum := sha256.Sum256([]byte(m.GroupID + "\x00" + m.ID))
	return binary.LittleEndian.Uint64(sum[:])
}
