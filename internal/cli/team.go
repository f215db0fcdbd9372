package cli

import (
	"fmt"
	"strings"

	"reverie/internal/reverie"
)

// ConflictsReply is the JSON of conflicts.
type ConflictsReply struct {
	Success   bool                   `json:"success"`
	Team      string                 `json:"team"`
	Conflicts []reverie.TeamConflict `json:"conflicts"`
}

// PrintConflicts shows conflicts of a team, side by side; here is the name of this deployment.
func (con *Console) PrintConflicts(r ConflictsReply, here string) error {
	for i := range r.Conflicts {
		r.Conflicts[i].Ours.CallDeployment(here, "this deployment")
		r.Conflicts[i].Theirs.CallDeployment(here, "this deployment")
	}
	return con.Page("team_conflicts", r)
}

// TeamReply is the JSON of the result for a team's memories.
type TeamReply struct {
	Success  bool                 `json:"success"`
	Team     string               `json:"team"`
	Memories []reverie.TeamMemory `json:"memories"`
	Refused  []reverie.TeamItem   `json:"refused,omitempty"`
}

// PrintTeamMemory shows the current version of a team's memory.
func (con *Console) PrintTeamMemory(team string, m reverie.TeamMemory) error {
	return con.Show(TeamReply{Success: true, Team: team, Memories: []reverie.TeamMemory{m}}, func() error {
		return con.Say("%s  v%d  %s\n    %s\n", m.VersionID, m.Version, m.Status, Visible(m.Statement))
	})
}

// teamOutcome describes the outcome of a memory.
func teamOutcome(item reverie.TeamItem) string {
	switch item.Outcome {
	case reverie.TeamDue:
		return "to " + item.Direction
	case reverie.TeamDone:
		return item.Direction + "ed"
	}
	return strings.ReplaceAll(string(item.Outcome), "_", " ")
}

// teamSum counts memories by outcome.
func teamSum(r reverie.TeamSyncReply) string {
	var sum strings.Builder
	for _, item := range []reverie.TeamItem{{Outcome: reverie.TeamDone, Direction: reverie.TeamPush},
		{Outcome: reverie.TeamDone, Direction: reverie.TeamPull}, {Outcome: reverie.TeamDue, Direction: reverie.TeamPush},
		{Outcome: reverie.TeamDue, Direction: reverie.TeamPull}, {Outcome: reverie.TeamConflicting},
		{Outcome: reverie.TeamHeldBack}, {Outcome: reverie.TeamHeld}, {Outcome: reverie.TeamRefused}} {
		if n := r.Count(item.Direction, item.Outcome); n > 0 {
			fmt.Fprintf(&sum, "%d %s, ", n, teamOutcome(item))
		}
	}
	return fmt.Sprintf("%s%d unchanged", sum.String(), r.Unchanged)
}
