package reverie

import (
	"fmt"
	"strings"
)

// TeamWrite is a version that is to become the head of a team's memory.
type TeamWrite struct {
	Team string
	// Memory says what is remembered. Its ID is the lineage's; VersionID and Version are
	// given by the store. Times that are zero are now, and an Origin without a deployment
	// is this one, which makes the version.
	Memory TeamMemory
	// IfVersion is the head that it takes the place of; "" = the memory must be new.
	IfVersion string
	// FromGroup is the group of this database that the version was made of, "" for none.
	FromGroup string
	// Evidence is kept only where Quotes says so.
	Quotes bool
	// RequestKey names a write, "" for none: asked for again it has the same answer, and
	// BodySHA256 tells that it is the same.
	RequestKey string
	BodySHA256 string
	// Embedding is the statement's; nil where it could not be had. Where the statement
	// stays the old one's is kept.
	Embedding      []float32
	EmbeddingModel string
}

// TeamHeadError refuses a write to a team's memory that rests on another version than
// its head. It is an [ErrConflict].
type TeamHeadError struct {
	ID   string      // of the memory
	Head *TeamMemory // nil: there is no such memory
}

func (e *TeamHeadError) Error() string {
	if e.Head == nil {
		return fmt.Sprintf("team memory %s does not exist here: create it", e.ID)
	}
	return fmt.Sprintf("team memory %s has moved: its version is %s (version %d); read it and write on top of that one", e.ID, e.Head.VersionID, e.Head.Version)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *TeamHeadError) Is(target error) bool { return target == ErrConflict }

// TeamSharedError refuses to share a memory anew where the team has written on what an
// earlier version of it was made into. It is an [ErrConflict].
type TeamSharedError struct{ Head TeamMemory }

func (e *TeamSharedError) Error() string {
	what := fmt.Sprintf("says %q by now (version %d)", e.Head.Statement, e.Head.Version)
	if e.Head.Status != StatusActive {
		what = fmt.Sprintf("was deleted (version %d; it said %q)", e.Head.Version, e.Head.Statement)
	}
	return fmt.Sprintf("team memory %s, into which this one was shared, %s: --overwrite puts this one in its place", e.Head.ID, what)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *TeamSharedError) Is(target error) bool { return target == ErrConflict }

// TwinError refuses a memory that says what another active one of the team says. It is
// an [ErrConflict].
type TwinError struct{ ID string } // the other memory

func (e *TwinError) Error() string {
	return fmt.Sprintf("team memory %s is active and says the same: change that one, or delete it first", e.ID)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *TwinError) Is(target error) bool { return target == ErrConflict }

// ErrKeyReused refuses a write under a key that stands for another one. It is an
// [ErrInvalid].
var ErrKeyReused = fmt.Errorf("this idempotency key stands for another write: use a new one: %w", ErrInvalid)

// ErrNoCondition refuses a write that does not say which version it rests on: it could
// undo what others have written. It is an [ErrInvalid].
var ErrNoCondition = fmt.Errorf("say which version this write rests on: If-Match with the memory's ETag to change it, "+
	"or If-None-Match: * to create it: %w", ErrInvalid)

// IsTeamID tells whether s is the id of a team's memory, or of a version, as it travels:
// a UUID in its canonical form, not the empty one.
func IsTeamID(s string) bool {
	return IsID(s) && s == strings.ToLower(s) && s != "00000000-0000-0000-0000-000000000000"
}

// CheckChat refuses the group id of a team where a chat's is needed.
func CheckChat(groupID string) error {
	if _, ok := TeamOf(groupID); ok {
		return fmt.Errorf("group id %q: %w", groupID, errNoChat)
	}
	return nil
}

var errNoChat = fmt.Errorf("what begins with %s is a team, which has memories and no chat; see reverie team --help: %w", teamPrefix, ErrInvalid)
