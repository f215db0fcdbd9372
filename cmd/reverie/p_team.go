package main

import (
	"fmt"

	"reverie/internal/reverie"
)

// conflictReply is a conflict with both sides.
type conflictReply struct {
	reverie.TeamConflict
	Ours reverie.TeamMemory `json:"ours"`
}

// conflictsReply is what --json shows of conflicts.
type conflictsReply struct {
	Success   bool            `json:"success"`
	Team      string          `json:"team"`
	Conflicts []conflictReply `json:"conflicts"`
}

func (con *console) printConflicts(r conflictsReply, here string) error {
	if len(r.Conflicts) == 0 {
		_, err := fmt.Fprintf(con.stdout, "team %s: no conflicts\n", r.Team)
		return err
	}
	s := con.style()
	for _, c := range r.Conflicts {
		fmt.Fprintf(con.stdout, "%s  with %s, since %s UTC\n", s.bold(c.LineageID), visible(c.Remote), stamp(c.CreatedAt))
		for _, side := range []struct {
			name string
			m    reverie.TeamMemory
		}{{"ours", c.Ours}, {"theirs", c.Theirs}} {
			by := side.m.Origin.Deployment
			if by == here {
				by = "this deployment"
			}
			text := visible(side.m.Statement)
			switch {
			case side.m.Statement == reverie.DeletedWords:
				text = s.red("deleted")
			case side.m.Status != reverie.StatusActive:
				text = s.red("deleted") + ", last: " + text
			}
			fmt.Fprintf(con.stdout, "  %-6s  %s\n          %s\n", side.name, text,
				s.dim(fmt.Sprintf("%s UTC by %s: %s", stamp(side.m.UpdatedAt), visible(by), visible(side.m.ChangeReason))))
		}
		if c.Ours.Statement != c.Theirs.Statement && c.Theirs.Statement != reverie.DeletedWords {
			fmt.Fprintf(con.stdout, "  %-6s  %s\n", "words", wordDiff(s, c.Ours.Statement, c.Theirs.Statement))
		}
	}
	_, err := fmt.Fprintf(con.stdout, "%s; decide by `reverie team resolve MEMORY --ours|--theirs|--statement S`\n", plural(len(r.Conflicts), "conflict"))
	return err
}

// teamReply is what was done to memories of a team, as --json shows it.
type teamReply struct {
	Success  bool                  `json:"success"`
	Team     string                `json:"team"`
	Memories []reverie.TeamMemory  `json:"memories"`
	Refused  []reverie.TeamRefusal `json:"refused,omitempty"`
}

func (con *console) printTeamMemory(team string, m reverie.TeamMemory, asJSON bool) error {
	if asJSON {
		return printJSON(con.stdout, teamReply{Success: true, Team: team, Memories: []reverie.TeamMemory{m}})
	}
	return con.say("%s  v%d  %s\n    %s\n", m.VersionID, m.Version, m.Status, visible(m.Statement))
}

func (con *console) showPush(reply reverie.TeamPushReply, asJSON bool) error {
	if asJSON {
		return printJSON(con.stdout, reply)
	}
	con.printPush(reply)
	return nil
}
