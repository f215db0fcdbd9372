package reverie

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A team is a tenant like a group, but without messages. Its memories, of [KindTeam], and its tokens belong to the
// group id TeamGroupID(name). A group belongs to a team by the configuration ([team] name) or by its own setting
// (Group.Team), and recalls the team's memories beside its own.

// teamPrefix is the beginning of a team's group id. No chat can have such an id.
const teamPrefix = "team:"

// TeamGroupID returns the group id that holds a team's memories.
func TeamGroupID(team string) string { return teamPrefix + team }

// TeamOf returns the team of a group id; ok is false for a chat.
func TeamOf(groupID string) (team string, ok bool) { return strings.CutPrefix(groupID, teamPrefix) }

const (
	letters  = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	teamName = letters + "._-" // characters of a team's name, which begins with a letter or digit
)

// CheckTeam refuses an invalid team name. Its errors are [ErrInvalid].
func CheckTeam(team string) error {
	if n := len(team); n < 1 || n > 64 || !strings.Contains(letters, team[:1]) || strings.Trim(team, teamName) != "" || team == GroupOff {
		return fmt.Errorf("team %q: a name has 1 to 64 letters, digits, dots, dashes and underscores: %w", team, ErrInvalid)
	}
	return nil
}

// GroupOff is the setting with which a group turns off what is configured.
const GroupOff = "off"

// TeamMemory is the newest version of a team's memory, as deployments exchange it.
type TeamMemory struct {
	ID        string    `json:"id"`         // the lineage: the same id in every deployment
	VersionID string    `json:"version_id"` // this version in its deployment; quoted, it is the ETag
	Version   int       `json:"version"`    // counts from 1 in its deployment
	Statement string    `json:"statement"`
	Status    Status    `json:"status"` // active, or deprecated if deleted
	Tags      []string  `json:"tags"`
	Strength  float64   `json:"strength"` // 0..1
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	// ChangeReason is why this version was written.
	ChangeReason string `json:"change_reason"`
	// Origin is the source of this version. Versions are the earlier ones, oldest first, without their statements.
	Origin   Origin        `json:"origin"`
	Versions []TeamVersion `json:"versions"`
	// Evidence is sent only if [team] quotes allows it.
	Evidence []Evidence `json:"evidence,omitempty"`
}

// DeletedWords replaces the statement of a deleted team memory in exchanges.
const DeletedWords = "[deleted]"

// TeamVersion is a version of a team's memory without its statement.
type TeamVersion struct {
	VersionID  string    `json:"version_id"`
	Version    int       `json:"version"`
	Deployment string    `json:"deployment"` // the deployment that wrote it
	UpdatedAt  time.Time `json:"updated_at"`
}

// Origin says where a version of a team's memory was written, and from how many messages. It names no group, person
// or message.
type Origin struct {
	Deployment    string    `json:"deployment"`
	MemoryID      string    `json:"memory_id"`  // the version in that deployment
	LineageID     string    `json:"lineage_id"` // its lineage in that deployment
	Version       int       `json:"version"`
	Job           Job       `json:"job,omitempty"` // "" if a person wrote it
	Model         string    `json:"model,omitempty"`
	PromptVersion string    `db:"prompt_version" json:"prompt_version,omitempty"`
	Messages      int       `json:"messages"` // number of messages that it rests on
	MadeAt        time.Time `json:"made_at"`
}

// TeamMemories is a page of a team's memories, including deleted ones.
type TeamMemories struct {
	Team     string       `json:"team"`
	Memories []TeamMemory `json:"memories"` // by id
	Next     string       `json:"next,omitempty"`
}

// Bounds of a team's memories in exchanges.
const (
	MaxTeamMemories = 10_000 // of a team, including deleted ones
	MaxTeamVersions = 500    // earlier versions that are listed
	MaxTeamEvidence = 50     // messages that it rests on
	MaxDeployment   = 100    // characters of a deployment's name
)

// Digest identifies the content of a team's memory: statement, status and tags. Versions with the same digest need
// no sync; all deleted versions of a memory count as equal.
func (m TeamMemory) Digest() string {
	if m.Status == StatusDeprecated {
		m.Statement, m.Tags = "", nil
	}
	tags := slices.Sorted(slices.Values(m.Tags))
	text, _ := json.Marshal([]any{m.Statement, m.Status, append([]string{}, tags...)}) // strings only: cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// ComesAfter reports whether a version was written on top of another, judged by the list of its earlier versions.
func (m TeamMemory) ComesAfter(other TeamMemory) bool {
	return slices.ContainsFunc(m.Versions, func(v TeamVersion) bool { return v.VersionID == other.Origin.MemoryID })
}

// CallDeployment replaces the deployment's own id by a name; "" keeps the id.
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

// TeamLink is the last version of a team's memory that this deployment and another had in common.
type TeamLink struct {
	Remote    string    `db:"remote"` // base URL
	LineageID string    `db:"lineage_id"`
	LocalID   string    `db:"local_id"`    // the version in this deployment
	RemoteID  string    `db:"remote_id"`   // the version in the other deployment
	Digest    string    `db:"body_sha256"` // see TeamMemory.Digest
	SyncedAt  time.Time `db:"synced_at"`
	// Resolution is how an open conflict with that deployment was resolved.
	Resolution string `db:"-"`
}

// TeamState is the sync state of a team's memory with another deployment.
type TeamState struct {
	TeamMemory
	// Held says that the local memory is held for a person or archived: sync neither pushes nor overwrites it.
	Held       bool
	Link       *TeamLink // nil: never synced with that deployment
	InConflict bool      // a conflict with that deployment is open
}

// TeamConflict is a team memory that this deployment and another have both changed. The local version stays the
// head until a person decides.
type TeamConflict struct {
	ID        string     `db:"conflict_id" json:"conflict_id"`
	Team      string     `db:"-" json:"team"`
	Remote    string     `db:"remote" json:"remote"`
	LineageID string     `db:"lineage_id" json:"id"`
	LocalID   string     `db:"local_id" json:"-"` // the local head when the conflict was found
	Theirs    TeamMemory `db:"theirs" json:"theirs"`
	CreatedAt time.Time  `db:"created_at" json:"created_at"`
	Ours      TeamMemory `db:"-" json:"ours"` // the current local head, in a list of conflicts
}

// TeamShare asks to copy a group's memory to a team.
type TeamShare struct {
	Team   string
	Memory Memory // the active head of its lineage
	Reason string
	Quotes bool // also copy its quotes
	// Overwrite replaces what the team has written or deleted since.
	Overwrite bool
}

// TeamRefusedError says why a team's memory may not be stored or sent. It does not repeat what was found, and is an
// [ErrInvalid].
type TeamRefusedError struct {
	ID       string
	Findings []ScanFinding
}

func (e *TeamRefusedError) Error() string {
	list := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		list[i] = fmt.Sprintf("%s (%s): %s", f.Where, f.Rule, f.Excerpt)
	}
	said := []rune(strings.Join(list, "; "))
	return fmt.Sprintf("team memory %s is refused: %s", e.ID, string(said[:min(len(said), 600)]))
}

// Is makes errors.Is(err, ErrInvalid) true.
func (e *TeamRefusedError) Is(target error) bool { return target == ErrInvalid }

// TeamOutcome is the outcome of a memory in a sync.
type TeamOutcome string

// The outcomes of a memory in a sync.
const (
	TeamDue         TeamOutcome = "due" // not done yet: it is a dry run, or the sync was interrupted
	TeamDone        TeamOutcome = "done"
	TeamConflicting TeamOutcome = "conflict"  // both sides changed it: a person must decide
	TeamRefused     TeamOutcome = "refused"   // it may not be sent or received
	TeamHeldBack    TeamOutcome = "held_back" // the sync would delete or rewrite too much at once
	TeamHeld        TeamOutcome = "held"      // held for a person or archived here
)

// The directions of a sync.
const (
	TeamPush = "push"
	TeamPull = "pull"
)

// TeamItem is a memory in a sync report, with its outcome. A refused one is listed without its statement.
type TeamItem struct {
	ID        string        `json:"id"`                  // of the lineage
	MemoryID  string        `json:"memory_id,omitempty"` // of the local version
	Direction string        `json:"direction,omitempty"` // "" for a conflict, and for what is held
	Action    Action        `json:"action,omitempty"`
	Outcome   TeamOutcome   `json:"outcome"`
	Statement string        `json:"statement,omitempty"`
	Theirs    string        `json:"theirs,omitempty"`    // the other side's statement, if held back
	ByRemote  bool          `json:"by_remote,omitempty"` // the other side refused it
	Findings  []ScanFinding `json:"findings,omitempty"`
	Reason    string        `json:"reason,omitempty"` // why it is refused, if there are no findings
}

// TeamSyncReply is the result of a sync of a team with another deployment, or of its dry run.
type TeamSyncReply struct {
	Success   bool       `json:"success"` // everything was exchanged, and nothing was refused or held back
	Team      string     `json:"team"`
	Remote    string     `json:"remote"`
	DryRun    bool       `json:"dry_run,omitempty"`
	Active    int        `json:"active"`      // local memories before the sync
	LastSync  *time.Time `json:"last_synced"` // before this sync; nil for never
	Items     []TeamItem `json:"items"`       // by id
	Unchanged int        `json:"unchanged"`
	Problem   string     `json:"problem,omitempty"` // why the sync stopped
}

// Count returns the number of memories with an outcome.
func (r TeamSyncReply) Count(direction string, outcome TeamOutcome) (n int) {
	for _, item := range r.Items {
		if item.Outcome == outcome && (direction == "" || item.Direction == direction) {
			n++
		}
	}
	return n
}

// TeamWrite is a version to be written as the head of a team's memory.
type TeamWrite struct {
	Team string
	// Memory is the content. Its ID is the lineage's; the store sets VersionID and Version. Zero times become now, and
	// an Origin without a deployment becomes this one.
	Memory TeamMemory
	// IfVersion is the expected head; "" = the memory must be new.
	IfVersion string
	// FromGroup is the local group whose memory was copied, "" for none.
	FromGroup string
	// Evidence is stored only if Quotes is set.
	Quotes bool
	// RequestKey is the idempotency key of a write, "" for none. A repeated key gets the same answer; BodySHA256 proves
	// that the request is the same.
	RequestKey string
	BodySHA256 string
	// Link, if not nil, is stored in the same transaction: the written version is based on the other deployment's. The
	// store sets its LineageID and LocalID.
	Link *TeamLink
}

// TeamHeadError refuses a write whose expected head is not the head of the team's memory. It is an [ErrConflict].
type TeamHeadError struct {
	ID   string      // of the memory
	Head *TeamMemory // nil: the memory does not exist
}

func (e *TeamHeadError) Error() string {
	if e.Head == nil {
		return fmt.Sprintf("team memory %s does not exist here: create it", e.ID)
	}
	return fmt.Sprintf("team memory %s has moved: its version is %s (version %d); read it and write on top of that one", e.ID, e.Head.VersionID, e.Head.Version)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *TeamHeadError) Is(target error) bool { return target == ErrConflict }

// ErrKeyReused refuses a key that was used for another write. It is an [ErrInvalid].
var ErrKeyReused = fmt.Errorf("this idempotency key stands for another write: use a new one: %w", ErrInvalid)

// ErrNoCondition refuses a write without an expected version: it could overwrite others' changes. It is an
// [ErrInvalid].
var ErrNoCondition = fmt.Errorf("say which version this write rests on: If-Match with the memory's ETag to change it, "+
	"or If-None-Match: * to create it: %w", ErrInvalid)

// IsTeamID reports whether s can be the id of a team's memory or version in exchanges: a UUID in canonical form,
// not the nil UUID.
func IsTeamID(s string) bool {
	return IsID(s) && s == strings.ToLower(s) && s != "00000000-0000-0000-0000-000000000000"
}

// CheckChat refuses a team's group id where a chat is needed.
func CheckChat(groupID string) error {
	if _, ok := TeamOf(groupID); ok {
		return fmt.Errorf("group id %q: %w", groupID, errNoChat)
	}
	return nil
}

var errNoChat = fmt.Errorf("what begins with %s is a team, which has memories and no chat; see reverie team --help: %w", teamPrefix, ErrInvalid)
