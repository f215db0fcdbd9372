package reverie

import "github.com/google/uuid"

// NewID returns a new identifier for a memory, lineage, run, change or call: a
// UUID of version 7, so that ids sort by their time of birth.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// IsID tells whether s has the form of an identifier made by [NewID].
func IsID(s string) bool { return uuid.Validate(s) == nil && len(s) == 36 }
