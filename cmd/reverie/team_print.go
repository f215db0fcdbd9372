package main

import (
	"fmt"
	"strings"

	"reverie/internal/reverie"
)

func (a *app) printPush(r reverie.TeamPushReply) {
	did := map[bool]string{false: "pushed", true: "would push"}[r.DryRun]
	a.printItems(did, r.Pushed)
	a.printItems("conflict", r.Conflicts)
	a.printItems("behind", r.Behind)
	a.printTeamRefusals(r.Refused)
	text := []string{fmt.Sprintf("%s %d", did, len(r.Pushed)), fmt.Sprintf("%d unchanged", r.Unchanged)}
	text = append(text, counted(r.Held, "held"), counted(len(r.Conflicts), "in conflict: reverie team conflicts"),
		counted(len(r.Behind), "changed there, too: reverie team pull"), counted(len(r.Refused), "refused"), counted(r.Remaining, "remain"))
	a.printSummary(r.Team, "to "+r.Remote, text)
}

func (a *app) printPull(r reverie.TeamPullReply) {
	did := map[bool]string{false: "pulled", true: "would pull"}[r.DryRun]
	a.printItems(did, r.Pulled)
	a.printItems("held back", r.HeldBack)
	a.printItems("conflict", r.Conflicts)
	a.printTeamRefusals(r.Refused)
	text := []string{fmt.Sprintf("%s %d", did, len(r.Pulled)), fmt.Sprintf("%d unchanged", r.Unchanged)}
	text = append(text, counted(r.ToPush, "to push"), counted(r.Held, "held"), counted(len(r.Conflicts), "in conflict: reverie team conflicts"),
		counted(len(r.HeldBack), "held back"), counted(len(r.Refused), "refused"))
	a.printSummary(r.Team, "from "+r.Remote, text)
}

func counted(n int, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s", n, what)
}

func (a *app) printSummary(team, where string, parts []string) {
	var said []string
	for _, p := range parts {
		if p != "" {
			said = append(said, p)
		}
	}
	fmt.Fprintf(a.stdout, "team %s %s: %s\n", team, visible(where), strings.Join(said, ", "))
}

func (a *app) printItems(what string, list []reverie.TeamItem) {
	for _, m := range list {
		action := ""
		if m.Action != "" {
			action = " (" + string(m.Action) + ")"
		}
		fmt.Fprintf(a.stdout, "%s%s  %s\n    %s\n", what, action, m.ID, visible(m.Statement))
		if m.Theirs != "" {
			s := a.style()
			fmt.Fprintf(a.stdout, "    theirs: %s\n    words:  %s\n", visible(m.Theirs), wordDiff(s, m.Statement, m.Theirs))
		}
	}
}

// printTeamRefusals tells why memories may not leave, or come in, without a word of them.
func (a *app) printTeamRefusals(list []reverie.TeamRefusal) {
	for _, r := range list {
		by := ""
		if r.ByRemote {
			by = " by the other side"
		}
		id := r.MemoryID
		if id == "" {
			id = r.ID
		}
		fmt.Fprintf(a.stdout, "%s%s  %s\n", a.style().red("refused"), by, visible(reverie.Excerpt(id, 40)))
		for _, f := range r.Findings {
			fmt.Fprintf(a.stdout, "    %s (%s): %s\n", visible(f.Where), visible(f.Rule), visible(f.Excerpt))
		}
		if r.Reason != "" {
			fmt.Fprintf(a.stdout, "    %s\n", visible(r.Reason))
		}
	}
}

func (a *app) printTeamStatus(r reverie.TeamStatusReply) {
	synced := "never synced"
	if r.LastSync != nil {
		synced = "last synced " + stamp(*r.LastSync) + " UTC"
	}
	fmt.Fprintf(a.stdout, "team %s: %s here; %s with %s\n", r.Team, plural(r.Active, "active memory"), synced, visible(r.Remote))
	a.printItems("to push", r.Push.Pushed)
	a.printItems("conflict", r.Push.Conflicts)
	a.printTeamRefusals(r.Push.Refused)
	if r.Pull == nil {
		fmt.Fprintln(a.stdout, "the other side cannot be heard: what a pull would do is not known")
		return
	}
	a.printItems("to pull", r.Pull.Pulled)
	a.printItems("would be held back", r.Pull.HeldBack)
	a.printTeamRefusals(r.Pull.Refused)
	fmt.Fprintf(a.stdout, "%d to push, %d to pull, %d in conflict, %d refused\n", len(r.Push.Pushed), len(r.Pull.Pulled)+len(r.Pull.HeldBack),
		max(r.Conflicts, len(r.Pull.Conflicts)), len(r.Push.Refused)+len(r.Pull.Refused))
}
