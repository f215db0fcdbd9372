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

func (con *Console) PrintConflicts(r ConflictsReply, here string) error {
	if len(r.Conflicts) == 0 {
		_, err := fmt.Fprintf(con.Stdout, "team %s: no conflicts\n", r.Team)
		return err
	}
	s := con.Style()
	for _, c := range r.Conflicts {
		fmt.Fprintf(con.Stdout, "%s  with %s, since %s UTC\n", s.Bold(c.LineageID), Visible(c.Remote), Stamp(c.CreatedAt))
		for _, side := range []struct {
			name string
			m    reverie.TeamMemory
		}{{"ours", c.Ours}, {"theirs", c.Theirs}} {
			by := side.m.Origin.Deployment
			if by == here {
				by = "this deployment"
			}
			text := Visible(side.m.Statement)
			switch {
			case side.m.Statement == reverie.DeletedWords:
				text = s.Red("deleted")
			case side.m.Status != reverie.StatusActive:
				text = s.Red("deleted") + ", last: " + text
			}
			fmt.Fprintf(con.Stdout, "  %-6s  %s\n          %s\n", side.name, text,
				s.Dim(fmt.Sprintf("%s UTC by %s: %s", Stamp(side.m.UpdatedAt), Visible(by), Visible(side.m.ChangeReason))))
		}
		if c.Ours.Statement != c.Theirs.Statement && c.Theirs.Statement != reverie.DeletedWords {
			fmt.Fprintf(con.Stdout, "  %-6s  %s\n", "words", WordDiff(s, c.Ours.Statement, c.Theirs.Statement))
		}
	}
	_, err := fmt.Fprintf(con.Stdout, "%s; decide by `reverie team resolve MEMORY --ours|--theirs|--statement S`\n",
		Plural(len(r.Conflicts), "conflict"))
	return err
}

// TeamReply is what was done to memories of a team, as --json shows it.
type TeamReply struct {
	Success  bool                  `json:"success"`
	Team     string                `json:"team"`
	Memories []reverie.TeamMemory  `json:"memories"`
	Refused  []reverie.TeamRefusal `json:"refused,omitempty"`
}

func (con *Console) PrintTeamMemory(team string, m reverie.TeamMemory, asJSON bool) error {
	if asJSON {
		return PrintJSON(con.Stdout, TeamReply{Success: true, Team: team, Memories: []reverie.TeamMemory{m}})
	}
	return con.Say("%s  v%d  %s\n    %s\n", m.VersionID, m.Version, m.Status, Visible(m.Statement))
}

func (con *Console) ShowPush(reply reverie.TeamPushReply, asJSON bool) error {
	if asJSON {
		return PrintJSON(con.Stdout, reply)
	}
	con.printPush(reply)
	return nil
}
