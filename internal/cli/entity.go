package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"reverie/internal/entity"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

func (con *Console) PrintEntities(list []reverie.Entity, total, offset int) error {
	var t Table
	t.Row("ENTITY", "KIND", "NAME", "ACCOUNT", "CLAIMS", "SUPPORTED", "PART OF", "ALSO")
	for _, e := range list {
		r := e.Reply()
		into := ""
		if r.MergedInto != nil {
			into = *r.MergedInto
		}
		t.Row(r.EntityID, r.Kind, Visible(r.Subject), Visible(strings.Join(r.Accounts, ", ")), len(e.Claims),
			lastSupported(e), into, Visible(strings.Join(r.Aliases, ", ")))
	}
	t.Trim("ACCOUNT", "PART OF", "ALSO")
	if err := t.Write(con.Stdout, con.Style()); err != nil {
		return err
	}
	return con.more(offset, len(list), total)
}

// lastSupported is the date of the newest message that a claim of the entity rests
// on.
func lastSupported(e reverie.Entity) string {
	var newest time.Time
	for _, c := range e.Claims {
		if c.LastSupportedAt.After(newest) {
			newest = c.LastSupportedAt
		}
	}
	if newest.IsZero() {
		return "-"
	}
	return newest.UTC().Format(time.DateOnly)
}

// ImpressionReply is a result in the shape of the API, with the names of what changed.
func ImpressionReply(r entity.Result, names map[string]string) reverie.ImpressionsReply {
	reply := reverie.ImpressionsReply{Success: r.Err == nil, Job: reverie.JobImpression, GroupID: r.GroupID, RunID: r.RunID,
		DryRun: r.DryRun, Status: r.Status,
		Stats: reverie.ImpressionStats{Created: r.Stats.Created, Updated: r.Stats.Updated, Postponed: r.Stats.Postponed,
			Refused: r.Stats.Refused},
		Changes: []reverie.EntityChangeReply{}, Refusals: r.Refusals, Warnings: r.Warnings}
	if r.Err != nil {
		reply.Error = r.Err.Error()
	}
	if r.NoNew {
		reply.Status, reply.Message = "", "nothing waits"
		return reply
	}
	if !r.At.IsZero() {
		reply.ImpressionTime = &r.At
	}
	reply.Messages = &reverie.MessageStats{Cited: r.Stats.Cited, Considered: r.Stats.Considered, Filtered: r.Stats.Filtered,
		Deferred: r.Stats.Deferred}
	reply.Changes = append(reply.Changes, reverie.EntityChangeReplies(r.Changes, names)...)
	return reply
}

// PrintImpression shows a run of the impression job to a person: what is known now
// of whom, and on what grounds. The date of its window is "" where it need not be
// told from others.
func (con *Console) PrintImpression(r entity.Result, names map[string]string, took time.Duration, date string) {
	s, w := con.Style(), con.Stdout
	if r.NoNew {
		fmt.Fprintf(w, "%s: no messages wait for impressions\n", Visible(r.GroupID))
		return
	}
	con.runHead(onDate(date, s.Bold(Visible(r.GroupID))+"  impression"), r.Result, took)
	fmt.Fprintf(w, "  %s\n", Counts(reverie.JobImpression, r.Stats))
	con.printEntityChanges(s, r.Changes, names)
	con.printRefusals(s, r.Refusals)
}

// printEntityChanges shows what a run found out, and whom it is about.
func (con *Console) printEntityChanges(s Style, changes []reverie.EntityChange, names map[string]string) {
	for _, c := range changes {
		text, name := Visible(c.NewText), s.Bold(Visible(names[c.EntityID]))
		switch c.Action {
		case reverie.EntityCreated:
			text = name + "  " + s.Dim("new: "+c.EntityID)
		case reverie.EntityNamed:
			text = name + "  is also " + text
		case reverie.EntityReplaced:
			text = name + "  " + WordDiff(s, c.OldText, c.NewText)
		default:
			text = name + "  " + text
		}
		fmt.Fprintf(con.Stdout, "  %s %s\n", changeMark(s, c.Action), text)
		if c.Reason != "" {
			fmt.Fprintf(con.Stdout, "      %s\n", s.Dim("why: "+Visible(c.Reason)))
		}
		con.printEvidence(s, c.Evidence, 3)
	}
}

// quotesShown is how many quotes a claim is printed with; --json has them all.
const quotesShown = 3

// EntityPage shows an entity as a page to read: what it is called, and what is
// said of it, by whom, and in which words.
func EntityPage(w io.Writer, s Style, e reverie.EntityReply) {
	fmt.Fprintf(w, "%s  %s  v%d\n", s.Bold(Visible(e.Subject)), e.Kind, e.Version)
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(w, "  %-10s %s\n", name, text)
		}
	}
	line("id", e.EntityID)
	line("also", Visible(strings.Join(e.Aliases, ", ")))
	line("account", Visible(strings.Join(e.Accounts, ", ")))
	line("changed", Stamp(e.UpdatedAt)+" UTC, known since "+Stamp(e.CreatedAt))
	for _, id := range e.Merged {
		line("with", fmt.Sprintf("%s, which is part of it; `reverie entity unmerge %[1]s` parts them", id))
	}
	if e.MergedInto != nil {
		line("part of", fmt.Sprintf("%s, which reads as both; `reverie entity unmerge %s` parts them", *e.MergedInto,
			e.EntityID))
	}
	if len(e.Features)+len(e.Impressions)+len(e.Relations) == 0 {
		fmt.Fprintln(w, "nothing is said of it yet")
	}
	claimSection(w, s, "features", len(e.Features), func(i int) (string, reverie.ClaimReply) {
		return e.Features[i].Key + ": " + e.Features[i].Value, e.Features[i].ClaimReply
	})
	claimSection(w, s, "impressions", len(e.Impressions), func(i int) (string, reverie.ClaimReply) {
		return e.Impressions[i].Text, e.Impressions[i].ClaimReply
	})
	claimSection(w, s, "relations", len(e.Relations), func(i int) (string, reverie.ClaimReply) {
		text := e.Relations[i].Kind + ": " + e.Relations[i].Target
		if id := e.Relations[i].TargetID; id != nil {
			text += " (" + *id + ")"
		}
		return text, e.Relations[i].ClaimReply
	})
}

// claimSection shows the claims of one aspect.
func claimSection(w io.Writer, s Style, title string, n int, claim func(i int) (string, reverie.ClaimReply)) {
	if n > 0 {
		fmt.Fprintln(w, s.Bold(title))
	}
	for i := range n {
		text, c := claim(i)
		fmt.Fprintf(w, "  %s\n", Visible(text))
		fmt.Fprintf(w, "      %s\n", s.Dim(fmt.Sprintf("%s; strength %.2f, confidence %.2f", saidBy(c), c.Strength,
			c.Confidence)))
		printQuotes(w, s, c.Evidence)
	}
}

// saidBy says whose word a claim is: the entity's own, or that of others.
func saidBy(c reverie.ClaimReply) string {
	if c.Self {
		return "in their own words"
	}
	names := map[string]string{} // the newest name of each author
	for _, e := range c.Evidence {
		names[e.AuthorID] = e.Author
	}
	var who []string
	for _, id := range c.SaidBy {
		name := names[id]
		if name == "" {
			name = id
		}
		who = append(who, Visible(name))
	}
	switch n := len(who); n {
	case 0:
		return "nobody says so any more"
	case 1:
		return who[0] + " says"
	default:
		return strings.Join(who[:n-1], ", ") + " and " + who[n-1] + " say"
	}
}

// printQuotes shows the newest quotes, the older first, and how many there are
// besides.
func printQuotes(w io.Writer, s Style, evidence []reverie.Evidence) {
	if more := len(evidence) - quotesShown; more > 0 {
		fmt.Fprintf(w, "      %s\n", s.Dim(fmt.Sprintf("%s before these", Plural(more, "quote"))))
		evidence = evidence[more:]
	}
	for _, e := range evidence {
		date := e.LocalDate
		if date == "" {
			date = e.SentAt.UTC().Format(time.DateOnly)
		}
		fmt.Fprintf(w, "      %s\n", s.Dim(fmt.Sprintf("%s  %s: “%s”", date, Visible(e.Author),
			Visible(text.Excerpt(e.Quote, 100)))))
	}
}

// EntityHistory shows the changes of an entity and then the versions of each
// claim, newest last.
func EntityHistory(w io.Writer, s Style, r reverie.EntityHistoryReply) {
	fmt.Fprintf(w, "%s  %s  v%d\n", s.Bold(Visible(r.Subject)), r.EntityID, r.Version)
	for _, c := range r.Changes {
		joins := c.Action == reverie.EntityMerge || c.Action == reverie.EntityUnmerge
		if joins && c.EntityID != r.EntityID && c.OtherID != nil && *c.OtherID == r.EntityID {
			continue // the other side of one that is shown
		}
		of := ""
		if c.EntityID != r.EntityID {
			of = "of " + c.EntityID + " "
		}
		printEntityChange(w, s, c, of)
	}
	if len(r.Claims) > 0 {
		fmt.Fprintln(w, s.Bold("what is and was said"))
	}
	before := reverie.Claim{}
	for _, c := range r.Claims {
		text := Visible(claimText(c))
		if c.LineageID == before.LineageID {
			text = WordDiff(s, claimText(before), claimText(c))
		}
		before = c
		fmt.Fprintf(w, "  %s  %s  %s  %s\n      %s\n", s.Bold(fmt.Sprint("v", c.Version)), Stamp(c.UpdatedAt), c.ID, c.Status,
			text)
	}
}

// claimText is a claim in a line.
func claimText(c reverie.Claim) string {
	if c.Name == "" {
		return c.Value
	}
	return c.Name + ": " + c.Value
}

// printEntityChange shows one change of an entity, and what it rests on. Of says
// whose it is, where that is not plain.
func printEntityChange(w io.Writer, s Style, c reverie.EntityChange, of string) {
	text := Visible(c.NewText)
	switch c.Action {
	case reverie.EntityReplaced:
		text = WordDiff(s, c.OldText, c.NewText)
	case reverie.EntityUndo:
		if text = Visible(c.OldText); c.NewText != "" {
			text = WordDiff(s, c.OldText, c.NewText)
		}
	case reverie.EntityWithdrawn:
		text = Visible(c.OldText)
	case reverie.EntityMerge, reverie.EntityUnmerge:
		if c.OtherID != nil {
			text = strings.TrimSpace(text + "  " + *c.OtherID)
		}
	}
	by := "by a person"
	if c.RunID != nil {
		by = "run " + *c.RunID
	}
	if c.UndoneRun != nil {
		by = "takes back run " + *c.UndoneRun
	}
	fmt.Fprintf(w, "%s  %s  %s\n", Stamp(c.CreatedAt), c.Action, s.Dim(of+by))
	if text != "" {
		fmt.Fprintf(w, "  %s %s\n", changeMark(s, c.Action), text)
	}
	if c.Reason != "" {
		fmt.Fprintf(w, "      %s\n", s.Dim("why: "+Visible(c.Reason)))
	}
	printQuotes(w, s, c.Evidence)
}

// changeMark is how a change begins in print: as those of memories do.
func changeMark(s Style, action reverie.EntityAction) string {
	switch action {
	case reverie.EntityWithdrawn:
		return s.Red("-")
	case reverie.EntityReplaced, reverie.EntityMerge, reverie.EntityUnmerge, reverie.EntityUndo:
		return s.Amber("~")
	}
	return s.Green("+")
}

// WaitingPage shows observations that wait: of whom, why, and until when.
func WaitingPage(w io.Writer, s Style, list []reverie.Observation) {
	for _, o := range list {
		fmt.Fprintf(w, "%s  %s  waits until %s\n", s.Bold(Visible(o.Subject)), o.Kind,
			o.ExpiresAt.UTC().Format(time.DateOnly))
		fmt.Fprintf(w, "      %s\n", s.Amber(whyWaiting(o)))
		for _, c := range o.Claims {
			text := c.Value
			if c.Name != "" {
				text = c.Name + ": " + c.Value
			}
			fmt.Fprintf(w, "  %s\n", Visible(text))
			printQuotes(w, s, c.Evidence)
		}
	}
}

// whyWaiting says what an observation waits for.
func whyWaiting(o reverie.Observation) string {
	switch o.Postponed {
	case reverie.PostponedAmbiguous:
		text := "several are called that"
		if len(o.MatchingIDs) > 0 {
			text += ": " + strings.Join(o.MatchingIDs, ", ")
		}
		return text + "; it joins the one that later messages make out, or once `reverie entity merge` says they are one"
	case reverie.PostponedInsufficient:
		return "nobody of that name is known, and too little speaks of one; later messages may"
	}
	return string(o.Postponed)
}
