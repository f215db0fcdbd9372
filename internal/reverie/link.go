package reverie

import (
	"fmt"
	"slices"
	"time"
)

// Reach limits where a fact that a person said of themselves may be recalled: only in its group, or also in groups
// in which the person is linked.
type Reach string

// The reaches. A memory without one has the configured reach.
const (
	ReachGroup  Reach = "group"
	ReachPerson Reach = "person"
)

// CheckReach refuses an unknown reach, and a reach that the memory cannot have.
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

// EntityLink says that an entity of one group is the same person as an entity of another. Both groups hold the
// link.
type EntityLink struct {
	GroupID       string    `db:"group_id" json:"-"`
	EntityID      string    `db:"entity_id" json:"-"`
	OtherGroupID  string    `db:"other_group_id" json:"group_id"`
	OtherEntityID string    `db:"other_entity_id" json:"entity_id"`
	Proved        bool      `db:"proved" json:"proved"` // both entities have the same account id
	Reason        string    `db:"reason" json:"reason,omitempty"`
	CreatedAt     time.Time `db:"created_at" json:"created_at"`
}

// LinkQuery asks to link a person in one group with a person in another. Force links them without a common account,
// and needs a reason.
type LinkQuery struct {
	A, B     EntityEnd
	Platform bool // as far as is known, both groups are on the same platform
	Force    bool
	Reason   string
}

// LinksReply is an entity with its links.
type LinksReply struct {
	Success  bool         `json:"success"`
	GroupID  string       `json:"group_id"`
	EntityID string       `json:"entity_id"`
	Links    []EntityLink `json:"links"`
}

// SharedFacts are the facts of a linked group that may be recalled in another group. The database has checked what
// it can; Names serve to find whom each fact is about.
type SharedFacts struct {
	GroupID string
	Facts   []SharedFact
	Names   []EntityName // EntityID is set for the persons of the facts, and "" for others
}

// SharedFact is a memory version whose evidence is one person's words.
type SharedFact struct {
	MemoryID  string `db:"memory_id"`
	Statement string `db:"statement"`
	EntityID  string `db:"entity_id"`
}
