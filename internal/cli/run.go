package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"reverie/evolve"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/session"
	"reverie/internal/text"
	"reverie/jobs"
)

// took returns the duration of a run.
func took(r reverie.Run) string {
	if r.FinishedAt == nil {
		return "-"
	}
	switch d := r.FinishedAt.Sub(r.StartedAt); {
	case d < time.Minute:
		return d.Round(10 * time.Millisecond).String()
	default:
		return d.Round(time.Second).String()
	}
}

// changed is what a run did to memories, or entities, in the signs that evolve
// prints: created, updated, deleted, kept, postponed, refused and held. What is zero
// is left out. What maintain did has words.
func changed(st reverie.Stats) string {
	return listed(" ", some(st.Created, "+%d"), some(st.Updated, "~%d"), some(st.Deleted, "-%d"), some(st.Kept, "=%d"),
		some(st.Postponed, ">%d"), some(st.Refused, "!%d"), some(st.Held, "?%d"),
		some(st.Archived, "%d archived"), some(st.Pruned, "%d pruned"))
}

// waiting says how many lines of a run are held; the others are applied.
func waiting(r reverie.Run) string {
	if r.Status != reverie.RunHeld || r.Stats.Held == 0 {
		return ""
	}
	return ", " + Plural(r.Stats.Held, "line")
}

// windowOf names a run's window in a table: by its dates, otherwise by its instants.
func windowOf(r reverie.Run, cal jobs.Calendar) string {
	if dates := cal.Span(r.WindowSince, r.WindowUntil, ".."); dates != "" {
		return dates
	}
	switch {
	case r.Stats.OpenEnded: // the end of the run
		return Stamp(r.WindowSince) + ".."
	case r.WindowSince.UTC().Year() == r.WindowUntil.UTC().Year():
		return Stamp(r.WindowSince) + ".." + r.WindowUntil.UTC().Format("01-02 15:04")
	}
	return Stamp(r.WindowSince) + ".." + Stamp(r.WindowUntil)
}

// USD formats an amount of money. Zero is "", and a small amount is not shown as zero.
func USD(amount float64) string {
	switch {
	case amount == 0:
		return ""
	case amount < 0.0001:
		return "<0.0001"
	}
	return fmt.Sprintf("%.4f", amount)
}

// PrintRuns shows a table of runs, without columns that the query fixes.
func (con *Console) PrintRuns(runs []reverie.RunEntry, q reverie.RunQuery, calendars map[string]jobs.Calendar) error {
	type shownRun struct {
		reverie.RunEntry
		Messages, Tokens int
	}
	page := struct {
		Runs      []shownRun
		Query     reverie.RunQuery
		Calendars map[string]jobs.Calendar
	}{nil, q, calendars}
	for _, r := range runs {
		page.Runs = append(page.Runs, shownRun{r, r.Stats.Cited + r.Stats.Considered + r.Stats.Filtered,
			r.Spend.InputTokens + r.Spend.OutputTokens})
	}
	return con.Page("runs", page)
}

// PrintRun shows a run as a page.
func (con *Console) PrintRun(d reverie.RunDetail, g reverie.GroupEntry, cal jobs.Calendar) error {
	type heldPlan struct {
		reverie.HeldPlan
		Changes []reverie.Change
		What    string // how much of its chunk is held
	}
	page := struct {
		reverie.Run
		Dates, Spent string
		ToDo         []string
		Changes      []reverie.Change
		Entities     []entityChange
		Facts        []runFact
		Chunks       []reverie.Chunk
		Calls        []reverie.Call
		Held         []heldPlan
	}{Run: d.Run, Dates: cal.Span(d.Run.WindowSince, d.Run.WindowUntil, ".."), Spent: spent(d.Spend), Changes: d.Changes,
		Entities: con.entityChanges(d.Entities, d.Names), Facts: runFacts(d.Decisions, d.Held), Chunks: d.Chunks, Calls: d.Calls}
	if d.Run.Job == reverie.JobPropose { // it has read no messages
		page.Chunks = nil
	}
	waits := false
	for _, h := range d.Held {
		waits = waits || h.Status == reverie.HeldWaiting
		plan := heldPlan{HeldPlan: h, What: "all of it"}
		if !h.Whole {
			plan.What = Plural(len(h.Steps), "line") + ", the rest is applied"
		}
		for _, st := range h.Steps {
			if st.Action != reverie.ActionKeep {
				plan.Changes = append(plan.Changes, reverie.Change{Action: st.Action, OldStatement: st.OldStatement,
					NewStatement: st.Statement, Summary: st.Reason, Version: st.Head.Version + 1, Evidence: st.Evidence})
			}
		}
		page.Held = append(page.Held, plan)
	}
	page.ToDo = whatNext(d.Run, waits, g)
	return con.Page("run", page)
}

// runFact is a decision of a run.
type runFact struct {
	reverie.Decision
	HeldWith string // if its whole chunk is held, the state of that plan
}

// Shown returns the decision for display below its fact.
func (f runFact) Shown() shownDecision { return showDecision(f.Decision, f.Statement) }

// runFacts are the decisions of a run that tell more than its changes: where a fact was
// compared, was known already, or was not stored. Where their chunk is held whole, they
// have come to nothing unless a person let it pass.
func runFacts(list []reverie.Decision, held []reverie.HeldPlan) (facts []runFact) {
	whole := map[int]reverie.HeldStatus{}
	for _, h := range held {
		if h.Whole {
			whole[h.ChunkNo] = h.Status
		}
	}
	for _, d := range list {
		if d.Action == reverie.DecisionAdd && (d.Basis == reverie.BasisShown || d.Basis == reverie.BasisNone) {
			continue
		}
		f := runFact{Decision: d}
		if status := whole[d.ChunkNo]; status != "" {
			f.HeldWith = fmt.Sprintf("  held with chunk %d, %s", d.ChunkNo, status)
		}
		facts = append(facts, f)
	}
	return facts
}

// whatNext says what to do about a run that did not finish everything.
func whatNext(r reverie.Run, waits bool, g reverie.GroupEntry) []string {
	if r.UndoneAt != nil {
		return nil
	}
	var lines []string
	if waits {
		lines = append(lines, fmt.Sprintf("`reverie runs approve %s`, or `reverie runs reject %[1]s`", r.ID))
	}
	setback := g.Setback(r.Job)
	switch {
	case r.Status == reverie.RunRunning:
		return append(lines, "it is under way; if its process was killed, the group's next run continues it")
	case r.Status != reverie.RunFailed && r.Status != reverie.RunDeferred:
		return lines
	case setback != nil:
		lines = append(lines, Remedy(*setback, g.ID))
	case words().Left[r.Job] != "":
		session := ""
		if r.Job == reverie.JobExtract {
			session = " --session " + Quoted(r.SessionID)
		}
		lines = append(lines, fmt.Sprintf("%s, `reverie %s%s --group %s` at once", words().Left[r.Job], r.Job, session, Quoted(g.ID)))
	case g.Pending == 0:
		return append(lines, "nothing: no message of the group is pending any more")
	default:
		lines = append(lines, fmt.Sprintf("%s of the group pending; the next run takes them, `reverie evolve --group %s` "+
			"at once", Plural(g.Pending, "message"), Quoted(g.ID)))
	}
	if g.Paused && !g.Parked() {
		lines = append(lines, fmt.Sprintf("the group is paused: `reverie groups resume %s`", Operand(g.ID)))
	}
	return lines
}

// LetPass says how many steps of an applied plan a run would have held.
func LetPass(steps int) string {
	return Plural(steps, "step") + " of it would have been held, and a person let it pass"
}

// spent formats the cost of a run's calls.
func spent(s reverie.Spend) string {
	return fmt.Sprintf("%s, %d tokens in, %d out, %s USD", Plural(s.Calls, "call"), s.InputTokens, s.OutputTokens,
		cmp.Or(USD(s.CostUSD), "0"))
}

// outcome is what is shown when a run of any job ends: its effects in one line, and their evidence.
type outcome struct {
	pipeline.Result
	Head, Because, Line, Narrative, Summary string

	Changes  []shownChange
	Entities []entityChange
	Folded   *reverie.SessionSummary
}

// shownChange is a change of a memory; closing an open thread is shown differently.
type shownChange struct {
	reverie.Change
	Closed bool
}

// open returns a change that closes nothing.
func open(c reverie.Change) shownChange { return shownChange{Change: c} }

// printOutcome shows a run; the first line begins with of.
func (con *Console) printOutcome(of string, r pipeline.Result, took time.Duration, page outcome) error {
	s := con.Style()
	id := s.Dim("run " + r.RunID)
	if con.columns() > 0 {
		id = s.Dim("run " + reverie.ShortID(r.RunID))
	}
	if r.DryRun {
		id = s.Amber("dry run: nothing was written")
	}
	if con.Quiet {
		page, r.Supported = outcome{Line: page.Line}, nil
	}
	if con.Brief {
		page, r.Supported, r.Refusals = page.brief(), nil, nil
	}
	page.Result = r
	page.Head = fmt.Sprintf("%s %s in %s  %s", of, s.Status(r.Status), took.Round(10*time.Millisecond), id)
	return con.Page("outcome", page)
}

// brief returns the counts and the changes, without reasons and quotes.
func (o outcome) brief() outcome {
	o = outcome{Line: o.Line, Changes: o.Changes, Entities: o.Entities}
	for i := range o.Changes {
		o.Changes[i].Summary, o.Changes[i].Evidence = "", nil
	}
	for i := range o.Entities {
		o.Entities[i].Reason, o.Entities[i].Evidence = "", nil
	}
	return o
}

// onDate prefixes a text with the date of a run's window, if there is one.
func onDate(date, text string) string { return strings.TrimLeft(date+"  "+text, " ") }

// PrintResult shows a run of evolve to a person.
func (con *Console) PrintResult(r evolve.Result, took time.Duration, date, line string) error {
	if r.NoNew {
		return con.Say("%s: no new messages\n", Visible(r.GroupID))
	}
	page := outcome{Line: line, Changes: text.Each(r.Changes, open)}
	return con.printOutcome(onDate(date, con.Style().Bold(Visible(r.GroupID))+" "), r.Result, took, page)
}

// Status colours the status of a run.
func (s Style) Status(status reverie.RunStatus) string {
	switch status {
	case reverie.RunSucceeded:
		return s.Green(string(status))
	case reverie.RunFailed:
		return s.Red(string(status))
	default:
		return s.Amber(string(status))
	}
}

// Counts sums up a run in one line, without counts that are usually zero and are.
func Counts(job reverie.Job, st reverie.Stats) string {
	switch job {
	case reverie.JobMaintain:
		return fmt.Sprintf("%d archived, %d pruned", st.Archived, st.Pruned)
	case reverie.JobPropose: // it has read no messages
		return Effects(job, st)
	case reverie.JobDream:
		taken := "nothing"
		if st.Material > 0 {
			taken = Plural(st.Sessions, "session") + " and " + Plural(st.Material, "memory")
		}
		return fmt.Sprintf("%s; %s taken in, %s", Effects(job, st), taken, Plural(st.Asked, "question"))
	}
	messages := fmt.Sprintf("%s (%d cited%s)", Plural(st.Cited+st.Considered+st.Filtered, "message"), st.Cited,
		some(st.Filtered, ", %d filtered")+some(st.Cut, ", %d read in part"))
	return listed("; ", Effects(job, st), messages, some(st.Folded, "%d folded"), some(st.Deferred, "%d pending"))
}

// Effects sums up the effects of a run on memories.
func Effects(job reverie.Job, st reverie.Stats) string {
	text := fmt.Sprintf("%d kept, %d updated, %d created, %d deleted", st.Kept, st.Updated, st.Created, st.Deleted)
	if job == reverie.JobImpression {
		text = fmt.Sprintf("%s created, %d updated", Plural(st.Created, "entity"), st.Updated)
	}
	return listed(", ", text, some(st.Postponed, "%d postponed"), some(st.Refused, "%d refused"), some(st.Held, "%d held"),
		some(st.Archived, "%d archived"))
}

// first returns the first n of a list.
func first(n int, list []reverie.Refusal) []reverie.Refusal { return list[:min(n, len(list))] }

// more returns how many remain after the first n.
func more(n, of int) int { return max(of-n, 0) }

// quotes returns the first n quotes of a change; the last one says how many more there are.
func quotes(n int, evidence []reverie.Evidence) (lines []string) {
	for _, e := range evidence[:min(n, len(evidence))] {
		lines = append(lines, fmt.Sprintf("%s: “%s”", Visible(e.Author), Visible(text.Excerpt(e.Quote, 100))))
	}
	if more := len(evidence) - n; more > 0 {
		lines[n-1] += fmt.Sprintf(" and %d more", more)
	}
	return lines
}

// ExtractReply converts a result for the API.
func ExtractReply(r session.Result) reverie.ExtractReply {
	return reverie.ExtractReply{RunSummary: r.Result.Summary("nothing waits"), Job: reverie.JobExtract,
		SessionID: r.SessionID, ExtractionTime: r.Ended(), Stats: r.Stats.Evolve(),
		Changes: reverie.ChangeReplies(r.Changes), Summary: r.Summary, Folded: r.Folded}
}

// PrintExtraction shows a run of extraction: the facts and the summary, with evidence.
func (con *Console) PrintExtraction(r session.Result, took time.Duration) error {
	if r.NoNew {
		return con.Say("%s  %s: nothing waits to be extracted\n", Visible(r.GroupID), Visible(r.SessionID))
	}
	page := outcome{Line: Counts(reverie.JobExtract, r.Stats), Summary: r.Summary, Folded: r.Folded, Changes: text.Each(factsOf(r), open)}
	err := con.printOutcome(con.Style().Bold(Visible(r.GroupID))+"  "+Visible(r.SessionID)+"  extract", r.Result, took,
		page)
	con.Warn(r.Warnings...)
	return err
}

// factsOf returns the changes of a session's facts, without the summary.
func factsOf(r session.Result) []reverie.Change {
	return slices.DeleteFunc(slices.Clone(r.Changes), func(c reverie.Change) bool {
		return slices.Contains(r.Recaps, c.MemoryID)
	})
}

// covers says which part of a session a rolling summary covers.
func covers(f *reverie.SessionSummary) string {
	return fmt.Sprintf("%s, %s, from %s to %s UTC", Plural(f.Turns, "turn"), Plural(f.Messages, "message"),
		Stamp(f.CoversSince), Stamp(f.CoversUntil))
}
