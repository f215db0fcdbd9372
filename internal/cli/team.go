package cli

import (
	"fmt"
	"strings"

	"reverie/internal/reverie"
	"reverie/internal/text"
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

func (con *Console) printPush(r reverie.TeamPushReply) {
	did := map[bool]string{false: "pushed", true: "would push"}[r.DryRun]
	con.printItems(did, r.Pushed)
	con.printItems("conflict", r.Conflicts)
	con.printItems("behind", r.Behind)
	con.PrintTeamRefusals(r.Refused)
	text := []string{fmt.Sprintf("%s %d", did, len(r.Pushed)), fmt.Sprintf("%d unchanged", r.Unchanged)}
	text = append(text, counted(r.Held, "held"), counted(len(r.Conflicts), "in conflict: reverie team conflicts"),
		counted(len(r.Behind), "changed there, too: reverie team pull"), counted(len(r.Refused), "refused"),
		counted(r.Remaining, "remain"))
	con.printSummary(r.Team, "to "+r.Remote, text)
}

func (con *Console) PrintPull(r reverie.TeamPullReply) {
	did := map[bool]string{false: "pulled", true: "would pull"}[r.DryRun]
	con.printItems(did, r.Pulled)
	con.printItems("held back", r.HeldBack)
	con.printItems("conflict", r.Conflicts)
	con.PrintTeamRefusals(r.Refused)
	text := []string{fmt.Sprintf("%s %d", did, len(r.Pulled)), fmt.Sprintf("%d unchanged", r.Unchanged)}
	text = append(text, counted(r.ToPush, "to push"), counted(r.Held, "held"),
		counted(len(r.Conflicts), "in conflict: reverie team conflicts"), counted(len(r.HeldBack), "held back"),
		counted(len(r.Refused), "refused"))
	con.printSummary(r.Team, "from "+r.Remote, text)
}

func counted(n int, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s", n, what)
}

func (con *Console) printSummary(team, where string, parts []string) {
	var said []string
	for _, p := range parts {
		if p != "" {
			said = append(said, p)
		}
	}
	fmt.Fprintf(con.Stdout, "team %s %s: %s\n", team, Visible(where), strings.Join(said, ", "))
}

func (con *Console) printItems(what string, list []reverie.TeamItem) {
	for _, m := range list {
		action := ""
		if m.Action != "" {
			action = " (" + string(m.Action) + ")"
		}
		fmt.Fprintf(con.Stdout, "%s%s  %s\n    %s\n", what, action, m.ID, Visible(m.Statement))
		if m.Theirs != "" {
			s := con.Style()
			fmt.Fprintf(con.Stdout, "    theirs: %s\n    words:  %s\n", Visible(m.Theirs), WordDiff(s, m.Statement, m.Theirs))
		}
	}
}

// PrintTeamRefusals tells why memories may not leave, or come in, without a word of them.
func (con *Console) PrintTeamRefusals(list []reverie.TeamRefusal) {
	for _, r := range list {
		by := ""
		if r.ByRemote {
			by = " by the other side"
		}
		id := r.MemoryID
		if id == "" {
			id = r.ID
		}
		fmt.Fprintf(con.Stdout, "%s%s  %s\n", con.Style().Red("refused"), by, Visible(text.Excerpt(id, 40)))
		for _, f := range r.Findings {
			fmt.Fprintf(con.Stdout, "    %s (%s): %s\n", Visible(f.Where), Visible(f.Rule), Visible(f.Excerpt))
		}
		if r.Reason != "" {
			fmt.Fprintf(con.Stdout, "    %s\n", Visible(r.Reason))
		}
	}
}

func (con *Console) PrintTeamStatus(r reverie.TeamStatusReply) {
	synced := "never synced"
	if r.LastSync != nil {
		synced = "last synced " + Stamp(*r.LastSync) + " UTC"
	}
	fmt.Fprintf(con.Stdout, "team %s: %s here; %s with %s\n", r.Team, Plural(r.Active, "active memory"), synced,
		Visible(r.Remote))
	con.printItems("to push", r.Push.Pushed)
	con.printItems("conflict", r.Push.Conflicts)
	con.PrintTeamRefusals(r.Push.Refused)
	if r.Pull == nil {
		fmt.Fprintln(con.Stdout, "the other side cannot be heard: what a pull would do is not known")
		return
	}
	con.printItems("to pull", r.Pull.Pulled)
	con.printItems("would be held back", r.Pull.HeldBack)
	con.PrintTeamRefusals(r.Pull.Refused)
	fmt.Fprintf(con.Stdout, "%d to push, %d to pull, %d in conflict, %d refused\n", len(r.Push.Pushed),
		len(r.Pull.Pulled)+len(r.Pull.HeldBack), max(r.Conflicts, len(r.Pull.Conflicts)),
		len(r.Push.Refused)+len(r.Pull.Refused))
}
