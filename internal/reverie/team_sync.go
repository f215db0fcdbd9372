package reverie

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"reverie/internal/text"
)

// Digest names what a team's memory says: its statement, whether it is there, and its
// tags. Versions of one digest need no syncing, and neither do deleted ones.
func (m TeamMemory) Digest() string {
	if m.Status == StatusDeprecated {
		m.Statement, m.Tags = "", nil
	}
	tags := slices.Sorted(slices.Values(m.Tags))
	text, _ := json.Marshal([]any{m.Statement, m.Status, append([]string{}, tags...)}) // of strings: cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// ComesAfter tells whether a version was made on top of another one, by what travels of
// the versions before it.
func (m TeamMemory) ComesAfter(other TeamMemory) bool {
	return slices.ContainsFunc(m.Versions, func(v TeamVersion) bool { return v.VersionID == other.Origin.MemoryID })
}

// TeamLink is the version of a team's memory that was common to this deployment and
// another one last.
type TeamLink struct {
	Remote    string    `db:"remote"` // base URL
	LineageID string    `db:"lineage_id"`
	LocalID   string    `db:"local_id"`    // the version here
	RemoteID  string    `db:"remote_id"`   // and what it is called there
	Digest    string    `db:"body_sha256"` // see TeamMemory.Digest
	SyncedAt  time.Time `db:"synced_at"`
}

// TeamState is how a team's memory stands towards another deployment.
type TeamState struct {
	TeamMemory
	// Held tells that it waits here for a person, or is archived: it is neither pushed
	// nor written over.
	Held     bool
	Link     *TeamLink     // nil: it was never synced with that one
	Conflict *TeamConflict // nil: none is open
}

// TeamConflict is a memory of a team that this deployment and another one have both
// changed: theirs stands beside ours, which stays the head, until a person decides.
type TeamConflict struct {
	ID        string     `json:"conflict_id"`
	Team      string     `json:"team"`
	Remote    string     `json:"remote"`
	LineageID string     `json:"id"`
	LocalID   string     `json:"-"` // our head when it was found
	Theirs    TeamMemory `json:"theirs"`
	CreatedAt time.Time  `json:"created_at"`
}

// TeamTake is a version of another deployment that becomes the head here.
type TeamTake struct {
	Write  TeamWrite
	Remote string
	// RemoteID and Digest are of the version that both have in common then: the one that
	// is taken, or the one that a person has written over.
	RemoteID, Digest string
	// Resolution settles the open conflict with that deployment, "" where there may be none.
	Resolution string
}

// TeamShare asks for a group's memory to be made a team's.
type TeamShare struct {
	Team   string
	Memory Memory // active head of its lineage
	Reason string
	Quotes bool // the words that it rests on come along
	// Overwrite has it take the place of what the team has written, or deleted, since.
	Overwrite bool
}

// TeamRefusedError says why a team's memory may not be kept or sent. It repeats nothing of
// what was found, and is an [ErrInvalid].
type TeamRefusedError struct {
	ID       string
	Findings []ScanFinding
}

func (e *TeamRefusedError) Error() string {
	list := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		list[i] = fmt.Sprintf("%s (%s): %s", f.Where, f.Rule, f.Excerpt)
	}
	return fmt.Sprintf("team memory %s is refused: %s", e.ID, text.Excerpt(strings.Join(list, "; "), 600))
}

// Is makes errors.Is(err, ErrInvalid) true.
func (e *TeamRefusedError) Is(target error) bool { return target == ErrInvalid }

// TeamItem is a memory in a report of a sync.
type TeamItem struct {
	ID        string `json:"id"`        // of the lineage
	MemoryID  string `json:"memory_id"` // of the version
	Action    Action `json:"action,omitempty"`
	Statement string `json:"statement"`
	// Theirs is what the other side says, of one that is held back.
	Theirs string `json:"theirs,omitempty"`
}

// TeamRefusal is a memory that was not let out, or in, and why. It has no word of it.
type TeamRefusal struct {
	ID       string        `json:"id"`
	MemoryID string        `json:"memory_id,omitempty"` // of the version here
	ByRemote bool          `json:"by_remote,omitempty"`
	Findings []ScanFinding `json:"findings,omitempty"`
	Reason   string        `json:"reason,omitempty"` // where there are no findings
}

// TeamPushReply says what a push has done.
type TeamPushReply struct {
	Success   bool          `json:"success"` // nothing was refused, and nothing remains
	Team      string        `json:"team"`
	Remote    string        `json:"remote"`
	DryRun    bool          `json:"dry_run,omitempty"`
	Pushed    []TeamItem    `json:"pushed"`
	Refused   []TeamRefusal `json:"refused,omitempty"`
	Conflicts []TeamItem    `json:"conflicts,omitempty"` // that wait for a person
	Behind    []TeamItem    `json:"behind,omitempty"`    // that the other side has gone on from: pull
	Unchanged int           `json:"unchanged"`
	Held      int           `json:"held,omitempty"`      // that wait here for a person
	Remaining int           `json:"remaining,omitempty"` // where it stopped on the way
}

// TeamPullReply says what a pull has done.
type TeamPullReply struct {
	Success   bool          `json:"success"` // nothing was refused or held back
	Team      string        `json:"team"`
	Remote    string        `json:"remote"`
	DryRun    bool          `json:"dry_run,omitempty"`
	Pulled    []TeamItem    `json:"pulled"`
	Refused   []TeamRefusal `json:"refused,omitempty"`
	Conflicts []TeamItem    `json:"conflicts,omitempty"` // that wait for a person
	HeldBack  []TeamItem    `json:"held_back,omitempty"` // too much would be deleted or rewritten at once
	Unchanged int           `json:"unchanged"`
	ToPush    int           `json:"to_push"`        // changed here alone
	Held      int           `json:"held,omitempty"` // that wait here for a person
}

// TeamStatusReply says how a team stands towards another deployment.
type TeamStatusReply struct {
	Success   bool           `json:"success"` // the other side was heard
	Team      string         `json:"team"`
	Remote    string         `json:"remote"`
	Active    int            `json:"active"`      // memories here
	LastSync  *time.Time     `json:"last_synced"` // null for never
	Push      TeamPushReply  `json:"push"`        // what a push would do
	Pull      *TeamPullReply `json:"pull"`        // and a pull; null where the other side cannot be heard
	Conflicts int            `json:"conflicts"`
	Problem   string         `json:"problem,omitempty"` // why it cannot be heard
}
