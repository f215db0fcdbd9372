package reverie

import (
	"fmt"
	"slices"
	"time"
)

// Reach says how far a fact reaches that a person said of themselves: not beyond its group, or
// to the groups in which that person is linked with who said it.
type Reach string

// The reaches. A memory of which nobody has said one reaches as far as is configured.
const (
	ReachGroup  Reach = "group"
	ReachPerson Reach = "person"
)

// CheckReach refuses what is neither, or a reach that a memory cannot have.
func CheckReach(r Reach, m Memory) error {
	switch {
	case r != ReachGroup && r != ReachPerson:
		return fmt.Errorf("scope %q: it is group or person: %w", r, ErrInvalid)
	case r == ReachPerson && (m.Kind != KindGroup && m.Kind != KindSession || slices.Contains(m.Tags, TagSummary)):
		return fmt.Errorf("memory %s is a %s's, or a summary: only what somebody said can be of scope person: %w", m.ID,
			m.Kind, ErrInvalid)
	}
	return nil
}

// EntityEnd is an entity of a group.
type EntityEnd struct {
	GroupID  string
	EntityID string
}

// EntityLink says that somebody is somebody in another group. It stands in both.
type EntityLink struct {
	GroupID       string    `db:"group_id" json:"-"`
	EntityID      string    `db:"entity_id" json:"-"`
	OtherGroupID  string    `db:"other_group_id" json:"group_id"`
	OtherEntityID string    `db:"other_entity_id" json:"entity_id"`
	Proved        bool      `db:"proved" json:"proved"` // both had an account of the same id
	Reason        string    `db:"reason" json:"reason,omitempty"`
	CreatedAt     time.Time `db:"created_at" json:"created_at"`
}

// LinkQuery asks to link somebody in one group with somebody in another. Force does so without
// the same account, for a reason.
type LinkQuery struct {
	A, B     EntityEnd
	Platform bool // both groups are of one platform, as far as is known
	Force    bool
	Reason   string
}

// LinksReply is an entity with those that it is linked with.
type LinksReply struct {
	Success  bool         `json:"success"`
	GroupID  string       `json:"group_id"`
	EntityID string       `json:"entity_id"`
	Links    []EntityLink `json:"links"`
}

// SharedFacts are the facts of a linked group that may reach a group, as far as the database
// can tell, and the names by which to tell whom they are about.
type SharedFacts struct {
	GroupID string
	Facts   []SharedFact
	Names   []EntityName // EntityID is that of a person of the facts, "" for everybody else
}

// SharedFact is a version of a memory that rests on one person's words.
type SharedFact struct {
	MemoryID  string `db:"memory_id"`
	Statement string `db:"statement"`
	EntityID  string `db:"entity_id"`
}
