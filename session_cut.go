package reverie

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// CutPrefix begins the ids of sessions that are cut by silence.
const CutPrefix = "cut-"

// Cut is a session cut by silence as it is with some messages more.
type Cut struct {
	ID       string
	Was      []string // the known sessions that it is made of; those of another id are no more
	Messages []int    // the new messages in it, by their index, in order of time
	FirstAt  time.Time
	LastAt   time.Time
}

// CutBySilence divides new messages of a group that name no session, by when they
// were sent, among its sessions that are cut by silence. Two messages with no
// longer silence between them than that are of one session, so that known sessions
// become one where new messages bridge them, and a session whose first message is
// an earlier one goes by another id. Neither befalls one that is fixed, since
// somebody has worked with it: a message between such a one and another is the
// earlier one's. As long as none is fixed, and silence stays the same, what comes
// out depends on when messages were sent alone, and not on how they arrived.
//
// Known are all cut sessions that lie within a silence of a new message; others may
// be among them. What nothing has befallen is not among the cuts.
func CutBySilence(groupID string, known []Session, fixed map[string]bool, sent []time.Time, silence time.Duration) []Cut {
	var pieces []piece
	for i := range known {
		pieces = append(pieces, piece{session: &known[i], since: known[i].FirstAt, until: known[i].LastAt})
	}
	for i, at := range sent {
		pieces = append(pieces, piece{message: i, since: at, until: at})
	}
	slices.SortStableFunc(pieces, func(a, b piece) int { return a.since.Compare(b.since) })
	var cuts []*cutting
	var last *cutting
	for _, p := range pieces {
		if last == nil || !last.takes(p, fixed, silence) {
			last = &cutting{Cut: Cut{FirstAt: p.since, LastAt: p.until}}
			cuts = append(cuts, last)
		}
		last.take(p, fixed)
	}
	var list []Cut
	for _, c := range cuts {
		if len(c.Messages) == 0 {
			continue
		}
		c.ID = c.fixed
		if c.ID == "" {
			c.ID = cutID(groupID, c.FirstAt)
		}
		list = append(list, c.Cut)
	}
	return list
}

// piece is a known session, or else a new message.
type piece struct {
	session      *Session
	message      int
	since, until time.Time
}

// cutting is a session that is being cut.
type cutting struct {
	Cut
	fixed   string // the id of the one that is fixed in it
	bridged bool   // its end is a new message
}

// takes tells whether a piece, which begins no earlier, belongs to the session.
func (c *cutting) takes(p piece, fixed map[string]bool, silence time.Duration) bool {
	if p.since.Sub(c.LastAt) > silence {
		return false
	}
	if p.session == nil || len(c.Was) == 0 {
		return true
	}
	return c.bridged && c.fixed == "" && !fixed[p.session.ID]
}

func (c *cutting) take(p piece, fixed map[string]bool) {
	if p.session != nil {
		c.Was = append(c.Was, p.session.ID)
		if fixed[p.session.ID] {
			c.fixed = p.session.ID
		}
	} else {
		c.Messages = append(c.Messages, p.message)
	}
	if !p.until.Before(c.LastAt) {
		c.LastAt, c.bridged = p.until, p.session == nil
	}
}

// cutID is the id of the session of a group that begins at an instant. No two
// begin at the same.
func cutID(groupID string, first time.Time) string {
	first = first.UTC()
	sum := sha256.Sum256([]byte(strings.Join([]string{groupID, first.Format(time.RFC3339Nano)}, "\x00")))
	return CutPrefix + first.Format("20060102T150405Z") + "-" + hex.EncodeToString(sum[:4])
}
