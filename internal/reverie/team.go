package reverie

import (
	"fmt"
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

var teamName = text.NewPattern(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckTeam refuses a name that a team cannot have. Its errors are [ErrInvalid].
func CheckTeam(team string) error {
	if !teamName.MatchString(team) || team == GroupOff {
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
	PromptVersion string    `json:"prompt_version,omitempty"`
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
