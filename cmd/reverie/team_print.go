package main

import (
	"fmt"
	"strings"

	"reverie/internal/reverie"
)

func (con *console) printPush(r reverie.TeamPushReply) {
	did := map[bool]string{false: "pushed", true: "would push"}[r.DryRun]
	con.printItems(did, r.Pushed)
	con.printItems("conflict", r.Conflicts)
	con.printItems("behind", r.Behind)
	con.printTeamRefusals(r.Refused)
	text := []string{fmt.Sprintf("%s %d", did, len(r.Pushed)), fmt.Sprintf("%d unchanged", r.Unchanged)}
	text = append(text, counted(r.Held, "held"), counted(len(r.Conflicts), "in conflict: reverie team conflicts"),
		counted(len(r.Behind), "changed there, too: reverie team pull"), counted(len(r.Refused), "refused"), counted(r.Remaining, "remain"))
	con.printSummary(r.Team, "to "+r.Remote, text)
}

func (con *console) printPull(r reverie.TeamPullReply) {
	did := map[bool]string{false: "pulled", true: "would pull"}[r.DryRun]
	con.printItems(did, r.Pulled)
	con.printItems("held back", r.HeldBack)
	con.printItems("conflict", r.Conflicts)
	con.printTeamRefusals(r.Refused)
	text := []string{fmt.Sprintf("%s %d", did, len(r.Pulled)), fmt.Sprintf("%d unchanged", r.Unchanged)}
	text = append(text, counted(r.ToPush, "to push"), counted(r.Held, "held"), counted(len(r.Conflicts), "in conflict: reverie team conflicts"),
		counted(len(r.HeldBack), "held back"), counted(len(r.Refused), "refused"))
	con.printSummary(r.Team, "from "+r.Remote, text)
}

func counted(n int, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s", n, what)
}

func (con *console) printSummary(team, where string, parts []string) {
	var said []string
	for _, p := range parts {
		if p != "" {
			said = append(said, p)
		}
	}
	fmt.Fprintf(con.stdout, "team %s %s: %s\n", team, visible(where), strings.Join(said, ", "))
}

func (con *console) printItems(what string, list []reverie.TeamItem) {
	for _, m := range list {
		action := ""
		if m.Action != "" {
			action = " (" + string(m.Action) + ")"
		}
		fmt.Fprintf(con.stdout, "%s%s  %s\n    %s\n", what, action, m.ID, visible(m.Statement))
		if m.Theirs != "" {
			s := con.style()
			fmt.Fprintf(con.stdout, "    theirs: %s\n    words:  %s\n", visible(m.Theirs), wordDiff(s, m.Statement, m.Theirs))
		}
	}
}

// printTeamRefusals tells why memories may not leave, or come in, without a word of them.
func (con *console) printTeamRefusals(list []reverie.TeamRefusal) {
	for _, r := range list {
		by := ""
		if r.ByRemote {
			by = " by the other side"
		}
		id := r.MemoryID
		if id == "" {
			id = r.ID
		}
		fmt.Fprintf(con.stdout, "%s%s  %s\n", con.style().red("refused"), by, visible(reverie.Excerpt(id, 40)))
		for _, f := range r.Findings {
			fmt.Fprintf(con.stdout, "    %s (%s): %s\n", visible(f.Where), visible(f.Rule), visible(f.Excerpt))
		}
		if r.Reason != "" {
			fmt.Fprintf(con.stdout, "    %s\n", visible(r.Reason))
		}
	}
}

func (con *console) printTeamStatus(r reverie.TeamStatusReply) {
	synced := "never synced"
	if r.LastSync != nil {
		synced = "last synced " + stamp(*r.LastSync) + " UTC"
	}
	fmt.Fprintf(con.stdout, "team %s: %s here; %s with %s\n", r.Team, plural(r.Active, "active memory"), synced, visible(r.Remote))
	con.printItems("to push", r.Push.Pushed)
	con.printItems("conflict", r.Push.Conflicts)
	con.printTeamRefusals(r.Push.Refused)
	if r.Pull == nil {
		fmt.Fprintln(con.stdout, "the other side cannot be heard: what a pull would do is not known")
		return
	}
	con.printItems("to pull", r.Pull.Pulled)
	con.printItems("would be held back", r.Pull.HeldBack)
	con.printTeamRefusals(r.Pull.Refused)
	fmt.Fprintf(con.stdout, "%d to push, %d to pull, %d in conflict, %d refused\n", len(r.Push.Pushed), len(r.Pull.Pulled)+len(r.Pull.HeldBack),
		max(r.Conflicts, len(r.Pull.Conflicts)), len(r.Push.Refused)+len(r.Pull.Refused))
}
