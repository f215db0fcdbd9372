package pipeline

import (
	"context"
	"fmt"
	"slices"
	"time"

	"reverie/internal/llm/answer"
	"reverie/internal/reverie"
	"reverie/internal/safety"
)

// Result is what a run did, as far as it came. The Stats of a resumed run count all of its parts.
type Result struct {
	GroupID   string
	RunID     string // "" where there was nothing to do, and for a dry run
	At        time.Time
	Status    reverie.RunStatus
	NoNew     bool // nothing was pending
	DryRun    bool
	Stats     reverie.Stats
	Changes   []reverie.Change
	Supported []reverie.Step // keeps with evidence: they change only the strength
	Refusals  []reverie.Refusal
	Held      []string // why plans are held, one reason each
	Warnings  []string
	Err       error
}

// Waiting counts the lines that were refused because a person will decide, or has decided, on them.
func (r Result) Waiting() (n int) {
	for _, f := range r.Refusals {
		if f.Rule == reverie.RuleWaits || f.Rule == reverie.RuleRejected {
			n++
		}
	}
	return n
}

// Summary is the common part of the replies of all jobs. none is the message of a run without pending messages.
func (r Result) Summary(none string) reverie.RunSummary {
	s := reverie.RunSummary{Success: r.Err == nil, GroupID: r.GroupID, RunID: r.RunID, DryRun: r.DryRun,
		Refusals: r.Refusals, Warnings: slices.Concat(r.Held, r.Warnings)}
	if r.Err != nil {
		s.Error = reverie.ErrorText(r.Err)
	}
	if r.NoNew {
		s.Message = none
		return s
	}
	s.Status = r.Status
	s.Messages = &reverie.MessageStats{Cited: r.Stats.Cited, Considered: r.Stats.Considered,
		Filtered: r.Stats.Filtered, Deferred: r.Stats.Deferred}
	return s
}

// Ended returns the end of the run, nil for a run that did nothing or has not ended.
func (r Result) Ended() *time.Time {
	if r.NoNew || r.At.IsZero() {
		return nil
	}
	return &r.At
}

// Record adds the effect of a plan to the result, and logs the refused lines.
func (r *RunRecorder) Record(result *Result, plan reverie.Plan, changes []reverie.Change) {
	result.Changes = append(result.Changes, changes...)
	for _, step := range plan.Steps {
		if step.Action == reverie.ActionKeep {
			result.Supported = append(result.Supported, step)
		}
	}
	if len(plan.Held) > 0 {
		result.Held = append(result.Held, plan.HeldReason)
	}
	r.Refuse(result, plan.ChunkNo, plan.Refusals)
}

// Refuse adds the refusals of a chunk to the result, and logs them.
func (r *RunRecorder) Refuse(result *Result, chunk int, refused []reverie.Refusal) {
	result.Refusals = append(result.Refusals, refused...)
	for _, f := range refused {
		r.Log.Info("line refused", "group_id", r.Row.GroupID, "run_id", r.Row.ID, "chunk", chunk, "line", f.Line,
			"action", f.Action, "handle", f.Handle, "rule", f.Rule, "detail", f.Detail)
		r.TellRefused(f.Rule)
	}
}

// LogSkipped logs the parts of an answer that are no objects.
func (r *RunRecorder) LogSkipped(about string, no int, skipped []answer.Skip) {
	for _, skip := range skipped {
		r.Log.Warn("part of the answer skipped", "group_id", r.Row.GroupID, "run_id", r.Row.ID, about, no,
			"line", skip.No, "reason", skip.Reason, "text", safety.MaskSecrets(skip.Excerpt))
		r.TellRefused(skip.Reason)
	}
}

// TellRefused calls Refused, if it is set.
func (r *RunRecorder) TellRefused(reason string) {
	if r.Refused != nil {
		r.Refused(reason)
	}
}

// Complete fills in the outcome of a run. Fields of Stats that only serve to resume the run are cleared.
func (r *RunRecorder) Complete(result *Result, err error) {
	result.Err, result.Status = err, reverie.EndOf(err, r.Stats.Held)
	result.NoNew = err == nil && !r.Began && r.Row.ID == ""
	result.Warnings = r.Warnings
	st := r.Stats
	st.Limit, st.OpenEnded, st.Days, st.Unanswered, st.Through = 0, false, 0, false, false
	result.Stats = st
}

// History reads what a run has done so far.
type History interface {
	SoFar(ctx context.Context, groupID, runID string) ([]reverie.Change, []reverie.Refusal, []reverie.HeldPlan, error)
}

// SoFar adds what a resumed run has done before.
func (r *RunRecorder) SoFar(ctx context.Context, store History, result *Result) error {
	changes, refusals, held, err := store.SoFar(ctx, r.Row.GroupID, r.Row.ID)
	if err != nil {
		return fmt.Errorf("read what run %s has done: %w", r.Row.ID, err)
	}
	result.Changes, result.Refusals = changes, refusals
	for _, h := range held {
		result.Held = append(result.Held, h.Reason)
	}
	return nil
}

// WindowEnd returns the end of a window of sent_at, half-open: until, or now where until is zero. It returns
// [reverie.ErrInvalid] for an empty window.
func WindowEnd(groupID string, since, until, now time.Time) (end time.Time, err error) {
	if until.IsZero() {
		until = now
	}
	if !since.IsZero() && !since.Before(until) {
		return until, fmt.Errorf("window of group %q: since %s is not before until %s: %w", groupID,
			since.Format(time.RFC3339), until.Format(time.RFC3339), reverie.ErrInvalid)
	}
	return until, nil
}
