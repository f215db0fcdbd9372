package ingest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"

	"reverie/internal/reverie"
)

// maxSeen is the minimum number of last messages that an import remembers. For older ones only the id counts.
const maxSeen = 1 << 20

// seen remembers the messages of an import: a hash of their content by a hash of group and id. The zero value is
// ready.
type seen struct{ now, before map[uint64]told }

// told holds hashes of author and time (whose) and of the content (what), and whether the text was edited.
type told struct {
	whose, what uint32
	edited      bool
	gone        bool // the platform deleted it
}

// sameID is the relation of a message to the first one with its id.
type sameID int

const (
	firstOfID sameID = iota // there is no earlier one, or it is the same
	otherOfID               // a different message, which gets a new id
	knownOfID               // equal to an earlier one that got a new id
	editOfID                // its newer text, or its deletion
	oldOfID                 // its older text
)

// apart compares a message with earlier ones of its id, and gives a different message a new id. An empty text, or
// an edited text of the same author and time, is not a different message; a deleted message stays deleted. The new
// id depends on the content, so that the next import recognises it.
func (s *seen) apart(m *reverie.Message, edited bool) sameID {
	at := m.SentAt.UTC().Format(time.RFC3339Nano)
	said := sha256.Sum256([]byte(strings.Join([]string{m.AuthorID, at, m.Text}, "\x00")))
	whose := sha256.Sum256([]byte(m.AuthorID + "\x00" + at))
	this := told{binary.LittleEndian.Uint32(whose[:]), binary.LittleEndian.Uint32(said[:]), edited, m.Deleted}
	first, found := s.find(m)
	switch {
	case !found, m.Deleted && !first.gone:
		s.put(m, this)
		if found {
			return editOfID
		}
		return firstOfID
	case first.gone:
		return oldOfID
	case first.whose == this.whose && first.what == this.what || m.Text == "":
		return firstOfID
	case first.whose == this.whose && edited:
		s.put(m, this)
		return editOfID
	case first.whose == this.whose && first.edited:
		return oldOfID
	}
	suffix := "~" + hex.EncodeToString(said[:8])
	m.ID = strings.ToValidUTF8(m.ID[:min(len(m.ID), reverie.MaxMessageIDLength-len(suffix))], "") + suffix
	if _, again := s.find(m); again {
		return knownOfID
	}
	s.put(m, this)
	return otherOfID
}

func (s *seen) put(m *reverie.Message, this told) {
	if s.now == nil || len(s.now) >= maxSeen {
		s.now, s.before = map[uint64]told{}, s.now
	}
	s.now[keyOf(m)] = this
}

func (s *seen) find(m *reverie.Message) (first told, found bool) {
	key := keyOf(m)
	if first, found = s.now[key]; !found {
		first, found = s.before[key]
	}
	return first, found
}

func keyOf(m *reverie.Message) uint64 {
	sum := sha256.Sum256([]byte(m.GroupID + "\x00" + m.ID))
	return binary.LittleEndian.Uint64(sum[:])
}
