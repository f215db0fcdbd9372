package reverie

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CutPrefix begins the ids of sessions that are cut by silence.
const CutPrefix = "cut-"

// Cut is a session cut by silence as it is with some messages more.
type Cut struct {
	ID       string   // "" for one that is new: see [CutID]
	Was      []string // the known sessions that it is made of, the earliest first; those of another id are no more
	Messages []int    // the new messages in it, by their index, in order of time
	FirstAt  time.Time
	LastAt   time.Time
}

// CutBySilence divides new messages of a group that name no session, by when they
// were sent, among its sessions that are cut by silence. Two messages with no
// longer silence between them than that are of one session, so that known sessions
// become one where new messages bridge them: it goes by the id of the one that has
// the most messages, for the others are what has to be moved. That does not befall
// one that is fixed, since somebody has worked with it: a message between such a
// one and another is the earlier one's. As long as none is fixed, and silence stays
// the same, which messages make a session depends on when they were sent alone,
// and not on how they arrived; which id it has does.
//
// Known are all cut sessions that lie within a silence of a new message; others may
// be among them. What nothing has befallen is not among the cuts.
func CutBySilence(known []Session, fixed map[string]bool, sent []time.Time, silence time.Duration) []Cut {
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
		if len(c.Messages) > 0 {
			list = append(list, c.Cut)
		}
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
	most    int  // messages of the largest known session in it
	fixed   bool // that one is, and then the only one
	bridged bool // its end is a new message
}

// takes tells whether a piece, which begins no earlier, belongs to the session.
func (c *cutting) takes(p piece, fixed map[string]bool, silence time.Duration) bool {
	if p.since.Sub(c.LastAt) > silence {
		return false
	}
	if p.session == nil || len(c.Was) == 0 {
		return true
	}
	return c.bridged && !c.fixed && !fixed[p.session.ID]
}

func (c *cutting) take(p piece, fixed map[string]bool) {
	if s := p.session; s == nil {
		c.Messages = append(c.Messages, p.message)
	} else {
		if c.Was = append(c.Was, s.ID); c.ID == "" || s.Total.Messages > c.most {
			c.ID, c.most = s.ID, s.Total.Messages
		}
		c.fixed = fixed[s.ID]
	}
	if !p.until.Before(c.LastAt) {
		c.LastAt, c.bridged = p.until, p.session == nil
	}
}

// CutID is the id of a session that is cut by silence, made of its group and of
// when the first message was sent that it was cut for. No two are cut for messages
// of the same instant; where a platform has given the id to a session of its own,
// there are others to try.
func CutID(groupID string, first time.Time, try int) string {
	first = first.UTC()
	of := []string{groupID, first.Format(time.RFC3339Nano)}
	if try > 0 {
		of = append(of, strconv.Itoa(try))
	}
	sum := sha256.Sum256([]byte(strings.Join(of, "\x00")))
	return CutPrefix + first.Format("20060102T150405Z") + "-" + hex.EncodeToString(sum[:4])
}
