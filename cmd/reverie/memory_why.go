package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"reverie/internal/reverie"
	"reverie/jobs"
)

func newMemoryWhy(a *app) *cobra.Command {
	var groupID string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "why MEMORY",
		Short: "Show why a memory says what it says",
		Long: `Show what stands behind each version of a memory, newest first: the run that
wrote it, with its model and prompt, the messages that it rests on, how it was
decided that the fact was new, more of what is known, or known already, and what
befell the version later: support, deletion, what took its place. Where readers
were offered the memory, how often, and how often their answers used it. Of what a
dream has left, the sessions, facts and memories that it was made of stand first, and
what they say by now; of what waits to be judged again, why, and of any memory what
was made of it. Any version's id will do. All times are in UTC.

A decision lists the memories that the fact was held against, best first, with
their similarity (0 to 1), what they are to the fact, and the reason. Messages of
runs that were taken back are left out: they support nothing any more, and the
decisions of such runs say so.`,
		Example: `  reverie memory why 0197a1b2-3c4d-7e5f-8a9b-0c1d2e3f4a5b
  reverie memory list --group g1        # has the ids`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := a.open(ctx); err != nil {
				return err
			}
			why, err := a.store.Why(ctx, groupID, args[0])
			if errors.Is(err, reverie.ErrNotFound) {
				return fmt.Errorf("%w; `reverie memory list --group G --status all` has the ids", err)
			}
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(a.stdout, reverie.WhyReply{Success: true, GroupID: why.Memory.GroupID, Why: why})
			}
			g, err := a.store.Group(ctx, why.Memory.GroupID)
			if err != nil {
				return err
			}
			a.printWhy(why, args[0], a.calendar(g))
			return nil
		},
	}
	cmd.Flags().StringVar(&groupID, "group", "", "look in this group only")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// printWhy shows what stands behind a memory as a page.
func (a *app) printWhy(why reverie.Why, asked string, cal jobs.Calendar) {
	s, w, m := a.style(), a.stdout, why.Memory
	fmt.Fprintln(w, s.bold(visible(m.Statement)))
	fmt.Fprintf(w, "  %s of %s, %s, strength %.2f, weight %.2f, last supported %s, %s\n", m.Kind, visible(m.GroupID), m.Status,
		m.Strength, m.Weight, stamp(m.LastSupportedAt), plural(len(why.Versions), "version"))
	if m.JudgeAgain != "" {
		fmt.Fprintf(w, "  %s\n", s.amber(visible(m.JudgeAgain)+"; it is judged again in the next run"))
	}
	if why.Usage.Offered > 0 {
		fmt.Fprintf(w, "  %s\n", usedHow(why.Usage))
	}
	a.printResting(why.Resting)
	for i, v := range slices.Backward(why.Versions) {
		mark := ""
		if v.Memory.ID == asked && i < len(why.Versions)-1 {
			mark = s.amber("  the one you asked for")
		}
		a.printVersion(why, i, mark)
		a.printVersionWhy(v, cal)
	}
}

// printVersion shows a version, and how it differs from the one before.
func (a *app) printVersion(why reverie.Why, i int, mark string) {
	s, m := a.style(), why.Versions[i].Memory
	text := visible(m.Statement)
	if i > 0 && why.Versions[i-1].Memory.Statement != m.Statement {
		text = wordDiff(s, why.Versions[i-1].Memory.Statement, m.Statement)
	}
	fmt.Fprintf(a.stdout, "\n%s  %s  %s  %s%s\n    %s\n", s.bold(fmt.Sprint("v", m.Version)), stamp(m.UpdatedAt), m.ID, m.Status, mark, text)
}

// printResting shows what was made of a memory, and would have to be judged again if that
// changed: the first of it.
func (a *app) printResting(list []reverie.Resting) {
	const most = 10
	s, w := a.style(), a.stdout
	for i, r := range list {
		if i == most {
			fmt.Fprintf(w, "  %s\n", s.dim(fmt.Sprintf("and %d more rest on it (--json has all)", len(list)-most)))
			break
		}
		mark := ""
		if r.JudgeAgain != "" {
			mark = s.amber("  judged again in the next run")
		}
		fmt.Fprintf(w, "  a %s rests on it: %s  %s%s\n", map[bool]string{true: "dream", false: "memory"}[r.Kind == reverie.KindDream],
			visible(reverie.Excerpt(r.Statement, 200)), s.dim(r.MemoryID), mark)
	}
}

// usedHow says what readers made of a memory.
func usedHow(u reverie.UsageCount) string {
	text := "offered to readers " + plural(u.Offered, "time")
	if u.LastOfferedAt != nil {
		text += ", last " + stamp(*u.LastOfferedAt)
	}
	if u.Referenced+u.Ignored == 0 {
		return text + "; nobody has said whether it helped"
	}
	return text + fmt.Sprintf("; %s used it, %d did not", plural(u.Referenced, "answer"), u.Ignored)
}

// printWriter shows who wrote a version: the run, and on what it rests.
func (a *app) printWriter(v reverie.WhyVersion, cal jobs.Calendar) {
	s, w := a.style(), a.stdout
	fmt.Fprintf(w, "  %s\n", madeBy(v, cal))
	if v.Reason != "" {
		fmt.Fprintf(w, "    %s\n", s.dim("why: "+visible(v.Reason)))
	}
	if r := v.Run; r != nil {
		fmt.Fprintf(w, "    run %s, chunk %d\n", r.ID, v.ChunkNo)
		fmt.Fprintf(w, "    model %s, prompt version %s (%.12s)\n", visible(r.Model), visible(r.PromptVersion), r.PromptSHA256)
		switch st := r.Stats; {
		case st.Plan == "":
		case st.Approved > 0:
			fmt.Fprintf(w, "    applied with a plan from a file; %s\n", letPass(st.Approved))
		default:
			fmt.Fprintln(w, "    applied with a plan from a file")
		}
		if r.UndoneAt != nil {
			fmt.Fprintf(w, "    %s\n", s.amber(fmt.Sprintf("taken back %s: its messages support nothing any more", stamp(*r.UndoneAt))))
		}
	}
	a.printSources(v.Sources)
	a.printSaid(v.Evidence)
}

// printVersionWhy shows what stands behind one version.
func (a *app) printVersionWhy(v reverie.WhyVersion, cal jobs.Calendar) {
	s, w := a.style(), a.stdout
	a.printWriter(v, cal)
	for _, d := range v.Decisions {
		if !slices.ContainsFunc(v.Later, func(l reverie.WhyLater) bool { return supportedBy(l, d) || replacedBy(v, l, d) }) {
			a.printDecision(d, v.Memory.Statement)
		}
	}
	for _, l := range v.Later {
		who := "by a person"
		switch {
		case l.RunID != "":
			who = "by run " + l.RunID + passed(l.Approved)
		case l.UndoneRunID != "":
			who = "with run " + l.UndoneRunID
		}
		fmt.Fprintf(w, "  %s  %s %s\n", stamp(l.At), s.bold(befell[l.Action]), who)
		if l.Reason != "" {
			fmt.Fprintf(w, "    %s\n", s.dim("why: "+visible(l.Reason)))
		}
		a.printSaid(l.Evidence)
		for _, d := range v.Decisions {
			switch {
			case supportedBy(l, d):
				a.printDecision(d, v.Memory.Statement)
			case replacedBy(v, l, d):
				fmt.Fprintf(w, "    replaced by: %s  %s\n", visible(d.Statement), s.dim(d.MemoryID))
			}
		}
	}
}

// supportedBy tells whether a decision is why a version was supported.
func supportedBy(l reverie.WhyLater, d reverie.Decision) bool {
	return l.Action == reverie.ActionKeep && d.Action == reverie.DecisionNone && d.RunID == l.RunID
}

// replacedBy tells whether a decision is why a version was deleted: its fact took
// the version's place, at once or when a person let it pass.
func replacedBy(v reverie.WhyVersion, l reverie.WhyLater, d reverie.Decision) bool {
	return l.Action == reverie.ActionDelete && d.RunID == l.RunID && d.TargetID == v.Memory.ID && d.MemoryID != v.Memory.ID
}

// passed says that a person let pass what was held.
func passed(approved bool) string {
	if approved {
		return ", held until a person let it pass"
	}
	return ""
}

// What made a version, and what befell one later, in words.
var (
	made = map[reverie.Action]string{reverie.ActionCreate: "created", reverie.ActionUpdate: "rewritten",
		reverie.ActionRestore: "restored", reverie.ActionUndo: "brought back"}
	befell = map[reverie.Action]string{reverie.ActionKeep: "supported", reverie.ActionDelete: "deleted",
		reverie.ActionArchive: "archived", reverie.ActionStrength: "strength set", reverie.ActionWeight: "weight set",
		reverie.ActionUndo: "taken back"}
)

// madeBy says who made a version, and for which dates.
func madeBy(v reverie.WhyVersion, cal jobs.Calendar) string {
	switch {
	case v.Run == nil && v.UndoneRunID != "":
		return made[v.Action] + ", where run " + v.UndoneRunID + " was taken back"
	case v.Run == nil:
		return made[v.Action] + " by a person"
	}
	return fmt.Sprintf("%s by %s for %s", made[v.Action], v.Run.Job, windowOf(*v.Run, cal)) + passed(v.Approved)
}

// printSaid shows messages: when, by whom, and the words that count.
func (a *app) printSaid(evidence []reverie.Evidence) {
	for _, e := range evidence {
		fmt.Fprintf(a.stdout, "    %s  %s: “%s”\n", stamp(e.SentAt), visible(e.Author), visible(e.Quote))
	}
}

// printSources shows the memories that a version rests on, as they were then: as of
// when, what they are, and what they said.
func (a *app) printSources(sources []reverie.SourceMemory) {
	s := a.style()
	for _, src := range sources {
		what := sourceKind(src)
		if src.SessionID != "" {
			what = strings.TrimPrefix(what+" of session "+src.SessionID, "session of ")
		}
		mark := ""
		switch {
		case src.Now != "":
			mark = s.amber(fmt.Sprintf("  says by now: “%s”", visible(reverie.Excerpt(src.Now, 200))))
		case !src.Active:
			mark = s.amber("  no longer stands")
		}
		fmt.Fprintf(a.stdout, "    %s  from %s: “%s”  %s%s\n", stamp(src.At), visible(what), visible(reverie.Excerpt(src.Statement, 200)), s.dim(src.MemoryID), mark)
	}
}

// What was decided on a fact, and what that rests on, in words.
var (
	decidedAs = map[reverie.DecisionAction]string{
		reverie.DecisionAdd:     "new, and added",
		reverie.DecisionUpdate:  "more on what was known, and put together with it",
		reverie.DecisionReplace: "against what was known, and took its place",
		reverie.DecisionNone:    "known already",
		reverie.DecisionHold:    "held for a person",
		reverie.DecisionSkip:    "not stored",
	}
	onBasisOf = map[reverie.Basis]string{
		reverie.BasisHash:     "the very words were known",
		reverie.BasisNone:     "no memory came near enough to be compared",
		reverie.BasisShown:    "the model that wrote it had the memories before it",
		reverie.BasisCompared: "a model compared it with what comes near it",
		reverie.BasisFallback: "the comparison failed, and [decide] fallback_mode applied",
	}
)

// printDecision shows what became of a fact and why: what it was held against,
// and what each of those is to it. What stands above or below already is not said
// again, the statement above least of all.
func (a *app) printDecision(d reverie.Decision, above string) {
	s, w := a.style(), a.stdout
	became := decidedAs[d.Action]
	if d.Action == reverie.DecisionHold && d.MemoryID != "" {
		became += ", who approved it"
	}
	if d.UndoneAt != nil {
		became += s.amber(fmt.Sprintf(", in a run that was taken back %s", stamp(*d.UndoneAt)))
	}
	fmt.Fprintf(w, "    decision %s: %s; %s\n", s.bold(string(d.Action)), became, onBasisOf[d.Basis])
	if d.Statement != above {
		fmt.Fprintf(w, "      fact: %s\n", visible(d.Statement))
	}
	if d.Reason != "" && !slices.ContainsFunc(d.Candidates, func(c reverie.Candidate) bool { return c.Reason == d.Reason }) {
		fmt.Fprintf(w, "      %s\n", s.dim("why: "+visible(d.Reason)))
	}
	if d.Calls > 0 {
		fmt.Fprintf(w, "      asked %s, prompt version %s (%.12s), %s\n", visible(d.Model), visible(d.PromptVersion), d.PromptSHA256, plural(d.Calls, "time"))
	}
	for _, c := range d.Candidates {
		relation := string(c.Relation)
		if relation == "" {
			relation = "not judged"
		}
		fmt.Fprintf(w, "      %.2f  %-10s  %s  %s\n", c.Score, visible(relation), visible(c.Statement), s.dim(fmt.Sprintf("v%d %s", c.Version, visible(c.MemoryID))))
		if c.Reason != "" {
			fmt.Fprintf(w, "            %s\n", s.dim("why: "+visible(c.Reason)))
		}
		if c.Merged != "" {
			fmt.Fprintf(w, "            %s\n", s.dim("together: "+visible(c.Merged)))
		}
	}
}
