package cli

import (
	"fmt"
	"strings"
	"time"

	"reverie/internal/entity"
	"reverie/internal/reverie"
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
