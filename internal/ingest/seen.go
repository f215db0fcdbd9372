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

// seen remembers the messages of an import: by a hash of group and id, what each was. The zero value is ready.
type seen struct{ now, before map[uint64]told }

// told is who said something when, and what, as hashes; and whether that is an edited text.
type told struct {
	whose, what uint32
	edited      bool
	gone        bool // the platform has deleted it
}

// sameID is what a message is to the first one of its id.
type sameID int

const (
	firstOfID sameID = iota // there is none, or it says the same
	otherOfID               // another one, that gets an id of its own
	knownOfID               // the same as another one that had got one
	editOfID                // its newer text, or that it was deleted
	oldOfID                 // its older text
)

// apart tells what a message is to others of its id, and gives another one an id of its own. What says nothing is no
// other one, and a message that was deleted stays so; nor is an edited text of the same author and time. The id follows
// from what the message says, so that the next import of it finds it known.
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
