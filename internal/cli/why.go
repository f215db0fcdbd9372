package cli

import (
	"fmt"
	"slices"
	"strings"

	"reverie/internal/reverie"
	"reverie/jobs"
)

// PrintWhy shows the history of a memory as a page.
func (con *Console) PrintWhy(why reverie.Why, asked string, cal jobs.Calendar) error {
	const mostResting = 10
	page := struct {
		reverie.Why
		MoreResting int
		Versions    []shownVersion
	}{Why: why, MoreResting: max(len(why.Resting)-mostResting, 0), Versions: con.shownVersions(why, cal)}
	page.Resting = page.Resting[:len(page.Resting)-page.MoreResting]
	for i, v := range page.Versions {
		if v.Memory.ID == asked && i > 0 {
			page.Versions[i].Mark = con.Style().Amber("  the one you asked for")
		}
	}
	return con.Page("why", page)
}

// PrintBlame shows which version wrote each word, and then where each version comes from.
func (con *Console) PrintBlame(b reverie.Blame, why reverie.Why, cal jobs.Calendar) error {
	page := struct {
		reverie.Blame
		Versions []shownVersion
	}{b, con.shownVersions(why, cal)}
	page.Words = nil
	for _, piece := range b.Words {
		if piece.Text = strings.TrimSpace(piece.Text); piece.Text != "" {
			page.Words = append(page.Words, piece)
		}
	}
	for i := range page.Versions {
		if b.Versions[len(b.Versions)-1-i].Remaining == 0 {
			page.Versions[i].Mark = con.Style().Dim("  none of its words are left")
		}
	}
	return con.Page("blame", page)
}

// shownVersion is a version as pages show it.
type shownVersion struct {
	reverie.WhyVersion
	Mark, Text, MadeBy string
	Decisions          []shownDecision
	Later              []shownLater
}

// shownLater is a later change to a version, with the decisions that caused it.
type shownLater struct {
	reverie.WhyLater
	What, Who string
	Supported []shownDecision
	Replaced  []reverie.Decision
}

// shownVersions returns the versions of a memory, newest first, with the difference from the previous one.
func (con *Console) shownVersions(why reverie.Why, cal jobs.Calendar) (list []shownVersion) {
	for i, v := range slices.Backward(why.Versions) {
		shown := showVersion(v, cal)
		shown.Text = Visible(v.Memory.Statement)
		if i > 0 && why.Versions[i-1].Memory.Statement != v.Memory.Statement {
			shown.Text = WordDiff(con.Style(), why.Versions[i-1].Memory.Statement, v.Memory.Statement)
		}
		list = append(list, shown)
	}
	return list
}

// showVersion joins each later change of a version with the decisions that caused it.
func showVersion(v reverie.WhyVersion, cal jobs.Calendar) shownVersion {
	shown := shownVersion{WhyVersion: v, MadeBy: madeBy(v, cal)}
	told := map[int]bool{}
	for _, l := range v.Later {
		later := shownLater{WhyLater: l, What: words().Became[l.Action], Who: "by a person"}
		switch {
		case l.RunID != "":
			later.Who = "by run " + l.RunID + passed(l.Approved)
		case l.UndoneRunID != "":
			later.Who = "with run " + l.UndoneRunID
		}
		for i, d := range v.Decisions {
			switch {
			case supportedBy(l, d):
				later.Supported = append(later.Supported, showDecision(d, v.Memory.Statement))
			case replacedBy(v, l, d):
				later.Replaced = append(later.Replaced, d)
			default:
				continue
			}
			told[i] = true
		}
		shown.Later = append(shown.Later, later)
	}
	for i, d := range v.Decisions {
		if !told[i] {
			shown.Decisions = append(shown.Decisions, showDecision(d, v.Memory.Statement))
		}
	}
	return shown
}

// usedHow describes the usage of a memory.
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

// supportedBy reports whether a decision caused the support of a version.
func supportedBy(l reverie.WhyLater, d reverie.Decision) bool {
	return l.Action == reverie.ActionKeep && d.Action == reverie.DecisionNone && d.RunID == l.RunID
}

// replacedBy reports whether a decision caused the deletion of a version: its fact replaced the version, at once or
// after an approval.
func replacedBy(v reverie.WhyVersion, l reverie.WhyLater, d reverie.Decision) bool {
	return l.Action == reverie.ActionDelete && d.RunID == l.RunID && d.TargetID == v.Memory.ID && d.MemoryID != v.Memory.ID
}

// passed marks what was held and approved.
func passed(approved bool) string {
	if approved {
		return ", held until a person let it pass"
	}
	return ""
}

// madeBy says who wrote a version, and for which dates.
func madeBy(v reverie.WhyVersion, cal jobs.Calendar) string {
	switch {
	case v.Run == nil && v.UndoneRunID != "":
		return words().Made[v.Action] + ", when run " + v.UndoneRunID + " was undone"
	case v.Run == nil && (v.Action == reverie.ActionCreate || v.Action == reverie.ActionUpdate) && v.Memory.ByPerson():
		return words().Made[v.Action] + " by " + v.Memory.Author
	case v.Run == nil:
		return words().Made[v.Action] + " by a person"
	}
	return fmt.Sprintf("%s by %s for %s", words().Made[v.Action], v.Run.Job, windowOf(*v.Run, cal)) + passed(v.Approved)
}

// sourceWhat says what kind of memory a source is.
func sourceWhat(src reverie.SourceMemory) string {
	what := sourceKind(src)
	if src.SessionID != "" {
		what = strings.TrimPrefix(what+" of session "+src.SessionID, "session of ")
	}
	return what
}

// shownDecision is a decision on a fact: its reason, and the candidates with their relations.
type shownDecision struct {
	reverie.Decision
	Became, Basis string
	Fact, Because string // set if they are not shown above or below already
}

// showDecision shows a decision below a statement.
func showDecision(d reverie.Decision, above string) shownDecision {
	shown := shownDecision{Decision: d, Became: words().Decided[d.Action], Basis: words().Basis[d.Basis]}
	if d.Action == reverie.DecisionHold && d.MemoryID != "" {
		shown.Became += ", who approved it"
	}
	if d.Statement != above {
		shown.Fact = d.Statement
	}
	if !slices.ContainsFunc(d.Candidates, func(c reverie.Candidate) bool { return c.Reason == d.Reason }) {
		shown.Because = d.Reason
	}
	return shown
}
