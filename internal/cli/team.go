package cli

import (
	"fmt"

	"reverie/internal/reverie"
)

// ConflictReply is a conflict with both sides.
type ConflictReply struct {
	reverie.TeamConflict
	Ours reverie.TeamMemory `json:"ours"`
}

// ConflictsReply is what --json shows of conflicts.
type ConflictsReply struct {
	Success   bool            `json:"success"`
	Team      string          `json:"team"`
	Conflicts []ConflictReply `json:"conflicts"`
}

// PrintConflicts shows conflicts of a team, side by side; here is this deployment.
func (con *Console) PrintConflicts(r ConflictsReply, here string) error {
	return con.Page("team_conflicts", struct {
		ConflictsReply
		Here, DeletedWords string
	}{r, here, reverie.DeletedWords})
}

// conflictSide is what one side of a conflict says.
type conflictSide struct {
	reverie.TeamMemory
	By, DeletedWords string
}

func sideOf(m reverie.TeamMemory, here string) conflictSide {
	by := m.Origin.Deployment
	if by == here {
		by = "this deployment"
	}
	return conflictSide{m, by, reverie.DeletedWords}
}

// TeamReply is what was done to memories of a team, as --json shows it.
type TeamReply struct {
	Success  bool                  `json:"success"`
	Team     string                `json:"team"`
	Memories []reverie.TeamMemory  `json:"memories"`
	Refused  []reverie.TeamRefusal `json:"refused,omitempty"`
}

// PrintTeamMemory shows what a memory of a team says now.
func (con *Console) PrintTeamMemory(team string, m reverie.TeamMemory) error {
	return con.Show(TeamReply{Success: true, Team: team, Memories: []reverie.TeamMemory{m}}, func() error {
		return con.Say("%s  v%d  %s\n    %s\n", m.VersionID, m.Version, m.Status, Visible(m.Statement))
	})
}

// PrintTeamRefusals tells why memories may not leave, or come in, without a word of them.
func (con *Console) PrintTeamRefusals(list []reverie.TeamRefusal) error {
	return con.Page("refused", list)
}

// PrintPush says what a push sent, and what it did not.
func (con *Console) PrintPush(r reverie.TeamPushReply) error { return con.Page("team_push", r) }

// PrintPull says what a pull took, and what it did not.
func (con *Console) PrintPull(r reverie.TeamPullReply) error { return con.Page("team_pull", r) }

// PrintTeamStatus says what a push and a pull would do.
func (con *Console) PrintTeamStatus(r reverie.TeamStatusReply) error {
	page := struct {
		reverie.TeamStatusReply
		ToPull, InConflict, RefusedOnBoth int
	}{TeamStatusReply: r}
	if r.Pull != nil {
		page.ToPull = len(r.Pull.Pulled) + len(r.Pull.HeldBack)
		page.InConflict = max(r.Conflicts, len(r.Pull.Conflicts))
		page.RefusedOnBoth = len(r.Push.Refused) + len(r.Pull.Refused)
	}
	return con.Page("team_status", page)
}

// teamItems are memories of a team, and what is done with them.
type teamItems struct {
	What  string
	Items []reverie.TeamItem
}

// counted is a part of a sum, "" where it is nothing.
func counted(n int, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d %s", n, what)
}
