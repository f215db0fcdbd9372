package cli

import (
	"fmt"
	"slices"
	"strings"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/jobs"
)

// PrintWhy shows what stands behind a memory as a page.
func (con *Console) PrintWhy(why reverie.Why, asked string, cal jobs.Calendar) {
	s, w, m := con.Style(), con.Stdout, why.Memory
	fmt.Fprintln(w, s.Bold(Visible(m.Statement)))
	fmt.Fprintf(w, "  %s of %s, %s, strength %.2f, weight %.2f, last supported %s, %s\n", m.Kind, Visible(m.GroupID),
		m.Status, m.Strength, m.Weight, Stamp(m.LastSupportedAt), Plural(len(why.Versions), "version"))
	if m.JudgeAgain != "" {
		fmt.Fprintf(w, "  %s\n", s.Amber(Visible(m.JudgeAgain)+"; it is judged again in the next run"))
	}
	if why.Usage.Offered > 0 {
		fmt.Fprintf(w, "  %s\n", usedHow(why.Usage))
	}
	con.printResting(why.Resting)
	for i, v := range slices.Backward(why.Versions) {
		mark := ""
		if v.Memory.ID == asked && i < len(why.Versions)-1 {
			mark = s.Amber("  the one you asked for")
		}
		con.printVersion(why, i, mark)
		con.printVersionWhy(v, cal)
	}
}

// printVersion shows a version, and how it differs from the one before.
func (con *Console) printVersion(why reverie.Why, i int, mark string) {
	s, m := con.Style(), why.Versions[i].Memory
	text := Visible(m.Statement)
	if i > 0 && why.Versions[i-1].Memory.Statement != m.Statement {
		text = WordDiff(s, why.Versions[i-1].Memory.Statement, m.Statement)
	}
	fmt.Fprintf(con.Stdout, "\n%s  %s  %s  %s%s\n    %s\n", s.Bold(fmt.Sprint("v", m.Version)), Stamp(m.UpdatedAt), m.ID,
		m.Status, mark, text)
}

// printResting shows what was made of a memory, and would have to be judged again if that
// changed: the first of it.
func (con *Console) printResting(list []reverie.Resting) {
	const most = 10
	s, w := con.Style(), con.Stdout
	for i, r := range list {
		if i == most {
			fmt.Fprintf(w, "  %s\n", s.Dim(fmt.Sprintf("and %d more rest on it (--json has all)", len(list)-most)))
			break
		}
		mark := ""
		if r.JudgeAgain != "" {
			mark = s.Amber("  judged again in the next run")
		}
		fmt.Fprintf(w, "  a %s rests on it: %s  %s%s\n",
			map[bool]string{true: "dream", false: "memory"}[r.Kind == reverie.KindDream],
			Visible(text.Excerpt(r.Statement, 200)), s.Dim(r.MemoryID), mark)
	}
}

// usedHow says what readers made of a memory.
func usedHow(u reverie.UsageCount) string {
	text := "offered to readers " + Plural(u.Offered, "time")
	if u.LastOfferedAt != nil {
		text += ", last " + Stamp(*u.LastOfferedAt)
	}
	if u.Referenced+u.Ignored == 0 {
		return text + "; nobody has said whether it helped"
	}
	return text + fmt.Sprintf("; %s used it, %d did not", Plural(u.Referenced, "answer"), u.Ignored)
}

// printWriter shows who wrote a version: the run, and on what it rests.
func (con *Console) printWriter(v reverie.WhyVersion, cal jobs.Calendar) {
	s, w := con.Style(), con.Stdout
	fmt.Fprintf(w, "  %s\n", madeBy(v, cal))
	if v.Reason != "" {
		fmt.Fprintf(w, "    %s\n", s.Dim("why: "+Visible(v.Reason)))
	}
	if r := v.Run; r != nil {
		fmt.Fprintf(w, "    run %s, chunk %d\n", r.ID, v.ChunkNo)
		fmt.Fprintf(w, "    model %s, prompt version %s (%.12s)\n", Visible(r.Model), Visible(r.PromptVersion),
			r.PromptSHA256)
		switch st := r.Stats; {
		case st.Plan == "":
		case st.Approved > 0:
			fmt.Fprintf(w, "    applied with a plan from a file; %s\n", LetPass(st.Approved))
		default:
			fmt.Fprintln(w, "    applied with a plan from a file")
		}
		if r.UndoneAt != nil {
			fmt.Fprintf(w, "    %s\n", s.Amber(fmt.Sprintf("taken back %s: its messages support nothing any more",
				Stamp(*r.UndoneAt))))
		}
	}
	con.printSources(v.Sources)
	con.printSaid(v.Evidence)
}

// printVersionWhy shows what stands behind one version.
func (con *Console) printVersionWhy(v reverie.WhyVersion, cal jobs.Calendar) {
	s, w := con.Style(), con.Stdout
	con.printWriter(v, cal)
	for _, d := range v.Decisions {
		if !slices.ContainsFunc(v.Later, func(l reverie.WhyLater) bool { return supportedBy(l, d) || replacedBy(v, l, d) }) {
			con.printDecision(d, v.Memory.Statement)
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
		fmt.Fprintf(w, "  %s  %s %s\n", Stamp(l.At), s.Bold(befell[l.Action]), who)
		if l.Reason != "" {
			fmt.Fprintf(w, "    %s\n", s.Dim("why: "+Visible(l.Reason)))
		}
		con.printSaid(l.Evidence)
		for _, d := range v.Decisions {
			switch {
			case supportedBy(l, d):
				con.printDecision(d, v.Memory.Statement)
			case replacedBy(v, l, d):
				fmt.Fprintf(w, "    replaced by: %s  %s\n", Visible(d.Statement), s.Dim(d.MemoryID))
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
func (con *Console) printSaid(evidence []reverie.Evidence) {
	for _, e := range evidence {
		fmt.Fprintf(con.Stdout, "    %s  %s: “%s”\n", Stamp(e.SentAt), Visible(e.Author), Visible(e.Quote))
	}
}

// printSources shows the memories that a version rests on, as they were then: as of
// when, what they are, and what they said.
func (con *Console) printSources(sources []reverie.SourceMemory) {
	s := con.Style()
	for _, src := range sources {
		what := sourceKind(src)
		if src.SessionID != "" {
			what = strings.TrimPrefix(what+" of session "+src.SessionID, "session of ")
		}
		mark := ""
		switch {
		case src.Now != "":
			mark = s.Amber(fmt.Sprintf("  says by now: “%s”", Visible(text.Excerpt(src.Now, 200))))
		case !src.Active:
			mark = s.Amber("  no longer stands")
		}
		fmt.Fprintf(con.Stdout, "    %s  from %s: “%s”  %s%s\n", Stamp(src.At), Visible(what),
			Visible(text.Excerpt(src.Statement, 200)), s.Dim(src.MemoryID), mark)
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
func (con *Console) printDecision(d reverie.Decision, above string) {
	s, w := con.Style(), con.Stdout
	became := decidedAs[d.Action]
	if d.Action == reverie.DecisionHold && d.MemoryID != "" {
		became += ", who approved it"
	}
	if d.UndoneAt != nil {
		became += s.Amber(fmt.Sprintf(", in a run that was taken back %s", Stamp(*d.UndoneAt)))
	}
	fmt.Fprintf(w, "    decision %s: %s; %s\n", s.Bold(string(d.Action)), became, onBasisOf[d.Basis])
	if d.Statement != above {
		fmt.Fprintf(w, "      fact: %s\n", Visible(d.Statement))
	}
	if d.Reason != "" &&
		!slices.ContainsFunc(d.Candidates, func(c reverie.Candidate) bool { return c.Reason == d.Reason }) {
		fmt.Fprintf(w, "      %s\n", s.Dim("why: "+Visible(d.Reason)))
	}
	if d.Calls > 0 {
		fmt.Fprintf(w, "      asked %s, prompt version %s (%.12s), %s\n", Visible(d.Model), Visible(d.PromptVersion),
			d.PromptSHA256, Plural(d.Calls, "time"))
	}
	for _, c := range d.Candidates {
		relation := string(c.Relation)
		if relation == "" {
			relation = "not judged"
		}
		fmt.Fprintf(w, "      %.2f  %-10s  %s  %s\n", c.Score, Visible(relation), Visible(c.Statement),
			s.Dim(fmt.Sprintf("v%d %s", c.Version, Visible(c.MemoryID))))
		if c.Reason != "" {
			fmt.Fprintf(w, "            %s\n", s.Dim("why: "+Visible(c.Reason)))
		}
		if c.Merged != "" {
			fmt.Fprintf(w, "            %s\n", s.Dim("together: "+Visible(c.Merged)))
		}
	}
}
