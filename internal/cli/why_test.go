package cli

import (
	"bytes"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/jobs"
)

// TestWhyPage: what a person let pass, what took the place of a version, and what
// was taken back are told apart from what is plainly so.
func TestWhyPage(t *testing.T) {
	at := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	run := reverie.Run{
		ID:            "id-of-run",
		Job:           reverie.JobEvolve,
		WindowSince:   at,
		WindowUntil:   at.Add(time.Hour),
		Model:         "test/fake",
		PromptVersion: "1",
		PromptSHA256:  "abc",
	}
	known := func(statement, runID string) reverie.Decision {
		return reverie.Decision{
			RunID:     runID,
			Statement: statement,
			Action:    reverie.DecisionNone,
			Basis:     reverie.BasisHash,
			TargetID:  "id-of-tea",
			MemoryID:  "id-of-tea",
			CreatedAt: at,
		}
	}
	undone := known("Tea is drunk!", "id-of-undone")
	undone.UndoneAt = &at
	conflict := reverie.Decision{
		RunID:     "id-of-last",
		Statement: "Coffee is drunk.",
		Action:    reverie.DecisionHold,
		Basis:     reverie.BasisCompared,
		TargetID:  "id-of-tea",
		MemoryID:  "id-of-coffee",
	}
	v := reverie.WhyVersion{
		Memory:    reverie.Memory{ID: "id-of-tea", Statement: "Tea is drunk."},
		Run:       &run,
		ChunkNo:   1,
		Action:    reverie.ActionCreate,
		Approved:  true,
		Decisions: []reverie.Decision{undone, known("tea is drunk", "id-of-next"), conflict},
		Later: []reverie.WhyLater{{Action: reverie.ActionKeep, RunID: "id-of-next", At: at.AddDate(0, 0, 1), Approved: true},
			{Action: reverie.ActionDelete, RunID: "id-of-last", At: at.AddDate(0, 0, 2)},
			{Action: reverie.ActionUndo, UndoneRunID: "id-of-run", At: at.AddDate(0, 0, 3)}},
	}
	var b bytes.Buffer
	a := &Console{Stdout: &b}
	if err := a.Page("version why", showVersion(v, utc())); err != nil {
		t.Fatal(err)
	}
	back := reverie.WhyVersion{Action: reverie.ActionUndo, UndoneRunID: "id-of-run", Reason: "the wrong model"}
	if err := a.Page("version why", showVersion(back, utc())); err != nil {
		t.Fatal(err)
	}
	wantLines(t, b.String(), `
  created by evolve for 2026-01-05 12:00..01-05 13:00, held until a person let it pass
    run id-of-run, chunk 1
    model test/fake, prompt version 1 (abc)
    decision NONE: known already, in a run that was undone 2026-01-05 12:00; the very words were known
      fact: Tea is drunk!
  2026-01-06 12:00  supported by run id-of-next, held until a person let it pass
    decision NONE: known already; the very words were known
      fact: tea is drunk
  2026-01-07 12:00  deleted by run id-of-last
    replaced by: Coffee is drunk.  id-of-coffee
  2026-01-08 12:00  undone with run id-of-run
  brought back, when run id-of-run was undone
    why: the wrong model
`)
}

// TestWhySources: what a dream has left says which memories it was made of, before
// the messages that those rest on.
func TestWhySources(t *testing.T) {
	summary := dreamSource(9, reverie.KindSession, true, "Lin planned\na trip.\x1b[0m")
	fact := dreamSource(9, reverie.KindSession, false, "Lin prefers trains.")
	summary.SessionID, fact.SessionID, fact.Active = "trip", "trip", false
	run := reverie.Run{
		ID:            "id-of-run",
		Job:           reverie.JobDream,
		WindowSince:   summary.At,
		WindowUntil:   summary.At.Add(time.Hour),
		Model:         "test/fake",
		PromptVersion: "1",
		PromptSHA256:  "abc",
	}
	v := reverie.WhyVersion{
		Memory:  reverie.Memory{Statement: "Lin travels by train."},
		Run:     &run,
		ChunkNo: 1,
		Action:  reverie.ActionCreate,
		Sources: []reverie.SourceMemory{
			summary,
			fact,
			dreamSource(5, reverie.KindGroup, false, "The group meets in Porto."),
		},
		Evidence: []reverie.Evidence{quote(9, "u7", "Lin", "I prefer trains")},
	}
	var b bytes.Buffer
	a := &Console{Stdout: &b}
	if err := a.Page("version why", showVersion(v, utc())); err != nil {
		t.Fatal(err)
	}
	wantLines(t, b.String(), `
  created by dream for 2026-02-09 22:30..02-09 23:30
    run id-of-run, chunk 1
    model test/fake, prompt version 1 (abc)
    2026-02-09 22:30  from session trip: “Lin planned a trip.�[0m”  id-9
    2026-02-09 22:30  from fact of session trip: “Lin prefers trains.”  id-9  no longer stands
    2026-02-05 22:30  from memory: “The group meets in Porto.”  id-5
    2026-01-09 23:30  Lin: “I prefer trains”
`)
}

// TestRunDecisionsOfAHeldChunk: what was decided there has come to nothing yet.
func TestRunDecisionsOfAHeldChunk(t *testing.T) {
	known := reverie.Decision{
		ChunkNo:   1,
		Statement: "Tea is drunk.",
		Action:    reverie.DecisionNone,
		Basis:     reverie.BasisHash,
	}
	later := known
	later.ChunkNo = 2
	var b bytes.Buffer
	facts := runFacts([]reverie.Decision{known, later}, []reverie.HeldPlan{
		{ChunkNo: 1, Whole: true, Status: reverie.HeldWaiting}, {ChunkNo: 2, Status: reverie.HeldWaiting}})
	if err := (&Console{Stdout: &b}).Page("facts", facts); err != nil {
		t.Fatal(err)
	}
	wantLines(t, b.String(), `
fact  Tea is drunk.  held with chunk 1, waiting
    decision NONE: known already; the very words were known
fact  Tea is drunk.
    decision NONE: known already; the very words were known
`)
}

// TestWhyUsed: what readers made of a memory is said in one line.
func TestWhyUsed(t *testing.T) {
	at := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	for want, u := range map[string]reverie.UsageCount{
		"offered to readers 1 time, last 2026-01-05 12:00; nobody has said whether it helped": {Offered: 1, LastOfferedAt: &at},
		"offered to readers 9 times, last 2026-01-05 12:00; 5 answers used it, 2 did not":     {Offered: 9, Referenced: 5, Ignored: 2, LastOfferedAt: &at},
	} {
		if got := usedHow(u); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// utc is the calendar of a group that says nothing of its own.
func utc() jobs.Calendar {
	cal, _ := jobs.CalendarOrUTC(reverie.Group{})
	return cal
}
