package reverie

import "fmt"

// Edit is a change that a person makes to a lineage's head, without the lease:
// it locks the head.
type Edit struct {
	GroupID  string
	MemoryID string // must be the lineage's head
	Action   Action // delete, restore, strength or weight
	Value    float64
	Reason   string
}

// NotHeadError refuses a write to an old version and names the head. It is an
// [ErrConflict].
type NotHeadError struct {
	MemoryID string
	Head     Head
}

func (e *NotHeadError) Error() string {
	return fmt.Sprintf("memory %s is an old version: the head of its lineage is %s (version %d); write to that one",
		e.MemoryID, e.Head.MemoryID, e.Head.Version)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *NotHeadError) Is(target error) bool { return target == ErrConflict }
