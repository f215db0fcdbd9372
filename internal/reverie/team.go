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

// A team is a tenant like a group, without messages: its memories, of [KindTeam], belong
// to the group id TeamGroupID(name), and so do its tokens. Groups belong to a team by the
// configuration ([team] name) or for themselves (Group.Team), and recall its memories
// beside their own.

// teamPrefix is what the group id of a team begins with. No chat can have such an id.
const teamPrefix = "team:"

// TeamGroupID is the group id under which a team's memories are kept.
func TeamGroupID(team string) string { return teamPrefix + team }

// TeamOf returns the team of a group id, false where it is a chat's.
func TeamOf(groupID string) (team string, ok bool) { return strings.CutPrefix(groupID, teamPrefix) }

const (
	letters  = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	teamName = letters + "._-" // that a team's name is made of, a letter or digit first
)

// CheckTeam refuses a name that a team cannot have. Its errors are [ErrInvalid].
func CheckTeam(team string) error {
	if n := len(team); n < 1 || n > 64 || !strings.Contains(letters, team[:1]) || strings.Trim(team, teamName) != "" || team == GroupOff {
		return fmt.Errorf("team %q: a name has 1 to 64 letters, digits, dots, dashes and underscores: %w", team, ErrInvalid)
	}
	return nil
}

// GroupOff is how a group says that it wants none of what is configured.
const GroupOff = "off"

// TeamMemory is the newest version of a team's memory as it travels between deployments.
type TeamMemory struct {
	ID        string    `json:"id"`         // of the lineage: the same in every deployment
	VersionID string    `json:"version_id"` // of this version, where it is kept; in quotes it is the ETag
	Version   int       `json:"version"`    // counts from 1, where it is kept
	Statement string    `json:"statement"`
	Status    Status    `json:"status"` // active, or deprecated where it was deleted
	Tags      []string  `json:"tags"`
	Strength  float64   `json:"strength"` // 0..1
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	// ChangeReason says why this version is as it is.
	ChangeReason string `json:"change_reason"`
	// Origin says where this version comes from, Versions which there were before, oldest
	// first. The words of older versions do not travel.
	Origin   Origin        `json:"origin"`
	Versions []TeamVersion `json:"versions"`
	// Evidence travels only where [team] quotes says so.
	Evidence []Evidence `json:"evidence,omitempty"`
}

// DeletedWords stands for the statement of a team's memory that was deleted, as it travels.
const DeletedWords = "[deleted]"

// TeamVersion is a version of a team's memory without its words.
type TeamVersion struct {
	VersionID  string    `json:"version_id"`
	Version    int       `json:"version"`
	Deployment string    `json:"deployment"` // that it comes from
	UpdatedAt  time.Time `json:"updated_at"`
}

// Origin says where a version of a team's memory was made, and from how much. It names no
// group, no person and no message.
type Origin struct {
	Deployment    string    `json:"deployment"`
	MemoryID      string    `json:"memory_id"`  // the version there
	LineageID     string    `json:"lineage_id"` // and its line
	Version       int       `json:"version"`
	Job           Job       `json:"job,omitempty"` // "" for a person's
	Model         string    `json:"model,omitempty"`
	PromptVersion string    `db:"prompt_version" json:"prompt_version,omitempty"`
	Messages      int       `json:"messages"` // that it rests on
	MadeAt        time.Time `json:"made_at"`
}

// TeamMemories is a page of a team's memories, deleted ones included.
type TeamMemories struct {
	Team     string       `json:"team"`
	Memories []TeamMemory `json:"memories"` // by id
	Next     string       `json:"next,omitempty"`
}

// Bounds of a team's memory as it travels.
const (
	MaxTeamMemories = 10_000 // of a team, deleted ones included
	MaxTeamVersions = 500    // earlier versions that are listed
	MaxTeamEvidence = 50     // messages that it rests on
	MaxDeployment   = 100    // characters of what a deployment is called
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

// CallDeployment puts a name in the place of the id by which a deployment is known to
// itself; "" leaves the id.
func (m *TeamMemory) CallDeployment(id, name string) {
	if name == "" {
		return
	}
	if m.Origin.Deployment == id {
		m.Origin.Deployment = name
	}
	for i := range m.Versions {
		if m.Versions[i].Deployment == id {
			m.Versions[i].Deployment = name
		}
	}
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
	// Resolution says how an open conflict with that deployment was settled.
	Resolution string `db:"-"`
}

// TeamState is how a team's memory stands towards another deployment.
type TeamState struct {
	TeamMemory
	// Held tells that it waits here for a person, or is archived: it is neither pushed
	// nor written over.
	Held       bool
	Link       *TeamLink // nil: it was never synced with that one
	InConflict bool      // a conflict with that one is open
}

// TeamConflict is a memory of a team that this deployment and another one have both
// changed: theirs stands beside ours, which stays the head, until a person decides.
type TeamConflict struct {
	ID        string     `db:"conflict_id" json:"conflict_id"`
	Team      string     `db:"-" json:"team"`
	Remote    string     `db:"remote" json:"remote"`
	LineageID string     `db:"lineage_id" json:"id"`
	LocalID   string     `db:"local_id" json:"-"` // our head when it was found
	Theirs    TeamMemory `db:"theirs" json:"theirs"`
	CreatedAt time.Time  `db:"created_at" json:"created_at"`
	Ours      TeamMemory `db:"-" json:"ours"` // our head now, in a list of conflicts
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
	list := text.Each(e.Findings, func(f ScanFinding) string { return fmt.Sprintf("%s (%s): %s", f.Where, f.Rule, f.Excerpt) })
	said := []rune(strings.Join(list, "; "))
	return fmt.Sprintf("team memory %s is refused: %s", e.ID, string(said[:min(len(said), 600)]))
}

// Is makes errors.Is(err, ErrInvalid) true.
func (e *TeamRefusedError) Is(target error) bool { return target == ErrInvalid }

// TeamOutcome is what became of a memory in a sync.
type TeamOutcome string

// The outcomes of a memory in a sync.
const (
	TeamDue         TeamOutcome = "due" // it is still to be done: in a dry run, or because the sync broke off
	TeamDone        TeamOutcome = "done"
	TeamConflicting TeamOutcome = "conflict"  // both sides have changed it: it waits for a person
	TeamRefused     TeamOutcome = "refused"   // it may not go out, or come in
	TeamHeldBack    TeamOutcome = "held_back" // too much would be deleted or rewritten at once
	TeamHeld        TeamOutcome = "held"      // it waits here for a person, or is archived
)

// The directions of a sync.
const (
	TeamPush = "push"
	TeamPull = "pull"
)

// TeamItem is a memory in a report, and what became of it. Of one that is refused it has
// no word.
type TeamItem struct {
	ID        string        `json:"id"`                  // of the lineage
	MemoryID  string        `json:"memory_id,omitempty"` // of the version here
	Direction string        `json:"direction,omitempty"` // "" of a conflict, and of what is held
	Action    Action        `json:"action,omitempty"`
	Outcome   TeamOutcome   `json:"outcome"`
	Statement string        `json:"statement,omitempty"`
	Theirs    string        `json:"theirs,omitempty"`    // what the other side says, of one that is held back
	ByRemote  bool          `json:"by_remote,omitempty"` // it is the other side that refuses it
	Findings  []ScanFinding `json:"findings,omitempty"`
	Reason    string        `json:"reason,omitempty"` // where it is refused without findings
}

// TeamSyncReply says what a sync of a team with another deployment has done, or would do.
type TeamSyncReply struct {
	Success   bool       `json:"success"` // all was heard and done, and nothing was refused or held back
	Team      string     `json:"team"`
	Remote    string     `json:"remote"`
	DryRun    bool       `json:"dry_run,omitempty"`
	Active    int        `json:"active"`      // memories here, before it
	LastSync  *time.Time `json:"last_synced"` // before it; null for never
	Items     []TeamItem `json:"items"`       // by id
	Unchanged int        `json:"unchanged"`
	Problem   string     `json:"problem,omitempty"` // why it stopped
}

// Count is how many memories came to an outcome.
func (r TeamSyncReply) Count(direction string, outcome TeamOutcome) (n int) {
	for _, item := range r.Items {
		if item.Outcome == outcome && (direction == "" || item.Direction == direction) {
			n++
		}
	}
	return n
}

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
	// Link notes, in the same transaction, that what is written is on top of what another
	// deployment says. Its LineageID and LocalID are given by the store. nil = nothing.
	Link *TeamLink
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
