package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"reverie/internal/entity"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// PrintEntities shows a page of entities, of total in all.
func (con *Console) PrintEntities(list []reverie.Entity, total, offset int) error {
	if err := con.Page("entities", list); err != nil {
		return err
	}
	return con.more(offset, len(list), total)
}

// lastSupported returns the date of the newest evidence of the entity's claims.
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

// ImpressionReply converts a result for the API, with the names of what changed.
func ImpressionReply(r entity.Result, names map[string]string) reverie.ImpressionsReply {
	return reverie.ImpressionsReply{RunSummary: r.Summary("nothing waits"), Job: reverie.JobImpression,
		ImpressionTime: r.Ended(), Stats: reverie.ImpressionStats{Created: r.Stats.Created, Updated: r.Stats.Updated,
			Postponed: r.Stats.Postponed, Refused: r.Stats.Refused},
		Changes: append([]reverie.EntityChangeReply{}, reverie.EntityChangeReplies(r.Changes, names)...)}
}

// PrintImpression shows a run of the impression job: the new claims, and their evidence. date is the date of its
// window, "" if it is not needed to identify the run.
func (con *Console) PrintImpression(r entity.Result, names map[string]string, took time.Duration, date string) error {
	if r.NoNew {
		return con.Say("%s: no messages wait for impressions\n", Visible(r.GroupID))
	}
	return con.printOutcome(onDate(date, con.Style().Bold(Visible(r.GroupID))+"  impression"), r.Result, took,
		outcome{Line: Counts(reverie.JobImpression, r.Stats), Entities: con.entityChanges(r.Changes, names)})
}

// entityChange is a change of an entity in words and, in a history, its author.
type entityChange struct {
	reverie.EntityChange
	Text, By string
}

// entityChanges returns the changes of a run with the names of their entities.
func (con *Console) entityChanges(changes []reverie.EntityChange, names map[string]string) (list []entityChange) {
	s := con.Style()
	for _, c := range changes {
		text, name := Visible(c.NewText), s.Bold(Visible(names[c.EntityID]))
		switch c.Action {
		case reverie.EntityCreated:
			text = s.Dim("new: " + c.EntityID)
		case reverie.EntityNamed:
			text = "is also " + text
		case reverie.EntityReplaced:
			text = WordDiff(s, c.OldText, c.NewText)
		}
		list = append(list, entityChange{EntityChange: c, Text: name + "  " + text})
	}
	return list
}

// saidBy says whose words a claim is: the entity's own, or those of others.
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

// newestQuotes returns the newest quotes, oldest first, and how many more there are.
func newestQuotes(evidence []reverie.Evidence) (lines []string) {
	const shown = 3 // --json has all of them
	if more := len(evidence) - shown; more > 0 {
		lines = append(lines, Plural(more, "quote")+" before these")
		evidence = evidence[more:]
	}
	for _, e := range evidence {
		date := cmp.Or(e.LocalDate, day(e.SentAt))
		lines = append(lines, fmt.Sprintf("%s  %s: “%s”", date, Visible(e.Author), Visible(text.Excerpt(e.Quote, 100))))
	}
	return lines
}

// EntityHistory shows the changes of an entity and then the versions of each claim, newest last.
func (con *Console) EntityHistory(r reverie.EntityHistoryReply) error {
	type claim struct {
		reverie.Claim
		Text string
	}
	s := con.Style()
	page := struct {
		reverie.EntityHistoryReply
		Changes []entityChange
		Claims  []claim
	}{EntityHistoryReply: r}
	for _, c := range r.Changes {
		joins := c.Action == reverie.EntityMerge || c.Action == reverie.EntityUnmerge
		if joins && c.EntityID != r.EntityID && c.OtherID != nil && *c.OtherID == r.EntityID {
			continue // the other side of a change that is shown
		}
		page.Changes = append(page.Changes, entityChange{c, changeText(s, c), changedBy(c, r.EntityID)})
	}
	before := reverie.Claim{}
	for _, c := range r.Claims {
		text := Visible(c.Text())
		if c.LineageID == before.LineageID {
			text = WordDiff(s, before.Text(), c.Text())
		}
		before = c
		page.Claims = append(page.Claims, claim{c, text})
	}
	return con.Page("entity_history", page)
}

// changeText describes a change of an entity.
func changeText(s Style, c reverie.EntityChange) string {
	text := Visible(c.NewText)
	switch c.Action {
	case reverie.EntityReplaced:
		return WordDiff(s, c.OldText, c.NewText)
	case reverie.EntityUndo:
		if c.NewText != "" {
			return WordDiff(s, c.OldText, c.NewText)
		}
		return Visible(c.OldText)
	case reverie.EntityWithdrawn:
		return Visible(c.OldText)
	case reverie.EntityMerge, reverie.EntityUnmerge:
		if c.OtherID != nil {
			text = strings.TrimSpace(text + "  " + *c.OtherID)
		}
	}
	return text
}

// changedBy says who made a change, and to which entity if it is not the one shown.
func changedBy(c reverie.EntityChange, shown string) string {
	by := "by a person"
	switch {
	case c.UndoneRun != nil:
		by = "undoes run " + *c.UndoneRun
	case c.RunID != nil:
		by = "run " + *c.RunID
	}
	if c.EntityID != shown {
		return "of " + c.EntityID + " " + by
	}
	return by
}

// changeMark returns the mark before a change, as for memories.
func changeMark(s Style, action reverie.EntityAction) string {
	switch action {
	case reverie.EntityWithdrawn:
		return s.Red("-")
	case reverie.EntityReplaced, reverie.EntityMerge, reverie.EntityUnmerge, reverie.EntityUndo:
		return s.Amber("~")
	}
	return s.Green("+")
}

// whyWaiting says what an observation waits for.
func whyWaiting(o reverie.Observation) string {
	switch o.Postponed {
	case reverie.PostponedAmbiguous:
		several := strings.TrimRight("a name in it fits several: "+strings.Join(o.MatchingIDs, ", "), ": ")
		return several + "; it joins the one that later messages make out, or once `reverie entity merge` says they are one"
	case reverie.PostponedInsufficient:
		return "nobody of that name is known, and too little speaks of one; later messages may"
	}
	return string(o.Postponed)
}
