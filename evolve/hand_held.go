package evolve

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// HeldFile writes down what a run holds and waits for a person, to be edited and handed to
// [Pipeline.ApproveEdited].
func (p *Pipeline) HeldFile(ctx context.Context, store HandStore, row reverie.Run, plans []reverie.HeldPlan) (*reverie.PlanFile, error) {
	e, err := p.held(ctx, store, row, plans)
	if err != nil {
		return nil, err
	}
	f := &reverie.PlanFile{PlanHeader: heldHeader(row, e.waiting[0].Kind)}
	f.CreatedAt = p.Now().UTC()
	names := map[string]string{}
	for _, plan := range e.waiting {
		for _, s := range plan.Steps {
			_, again := names[s.Head.MemoryID]
			names[s.Head.MemoryID] = s.Head.MemoryID
			if h, ok := e.heads[s.Head.MemoryID]; ok && !again {
				f.Heads = append(f.Heads, reverie.PlanHead{MemoryID: h.ID, LineageID: h.LineageID, Version: h.Version, SHA256: h.SHA256()})
			}
		}
	}
	for _, m := range e.list {
		f.Messages = append(f.Messages, reverie.PlanMessage{MessageID: m.ID, SHA256: m.SHA256()})
	}
	delete(names, "")
	for _, plan := range e.waiting {
		f.Add(reverie.PlanChunk{}, reverie.Plan{ChunkNo: plan.ChunkNo, Held: plan.Steps, HeldAll: plan.Whole, HeldReason: plan.Reason}, names)
		steps := f.Chunks[len(f.Chunks)-1].Steps
		for i := range steps {
			steps[i].No, steps[i].As = i+1, "" // nothing rests on what is not written
		}
	}
	return f, nil
}

// heldHeader is the header of what a run holds: a person may not change it.
func heldHeader(row reverie.Run, kind reverie.Kind) reverie.PlanHeader {
	return reverie.PlanHeader{PlanID: row.ID, RunID: row.ID, GroupID: row.GroupID, Job: row.Job, Kind: kind, Since: row.WindowSince, Until: row.WindowUntil,
		OpenEnded: row.Stats.OpenEnded, Days: row.Stats.Days, Model: row.Model, PromptVersion: row.PromptVersion, PromptSHA256: row.PromptSHA256}
}

// heldEdit is what a run holds, beside what a person has made of it.
type heldEdit struct {
	*Pipeline
	row      reverie.Run
	waiting  []reverie.HeldPlan
	loc      *time.Location
	heads    map[string]reverie.HeadState // those of the group that are heads now, by id
	list     []reverie.Message            // that are evidence of the steps and still there, masked
	messages map[string]reverie.Message
	unsound  []string
}

// held reads what a run holds, and what that rests on.
func (p *Pipeline) held(ctx context.Context, store HandStore, row reverie.Run, plans []reverie.HeldPlan) (*heldEdit, error) {
	e := &heldEdit{Pipeline: p, row: row, heads: map[string]reverie.HeadState{}, messages: map[string]reverie.Message{}}
	var ids []string
	for _, plan := range plans {
		if plan.Status != reverie.HeldWaiting {
			continue
		}
		e.waiting = append(e.waiting, plan)
		for _, s := range plan.Steps {
			for _, ev := range s.Evidence {
				ids = append(ids, ev.MessageID)
			}
		}
	}
	if len(e.waiting) == 0 {
		return nil, fmt.Errorf("run %s holds nothing that waits: %w", row.ID, reverie.ErrConflict)
	}
	state, err := p.Store.Gather(ctx, reverie.GatherQuery{GroupID: row.GroupID, Kind: e.waiting[0].Kind, Until: p.Now().UTC(), Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("gather group %q: %w", row.GroupID, err)
	}
	if e.loc, err = state.Group.Location(); err != nil {
		return nil, fmt.Errorf("%w: %w", reverie.ErrConfiguration, err)
	}
	for _, h := range slices.Concat(state.Heads, state.Again) {
		e.heads[h.ID] = h
	}
	cited, err := store.PlanState(ctx, row.GroupID, row.ID, ids)
	if err != nil {
		return nil, err
	}
	e.list = p.Privacy.Messages(cited.Messages)
	for _, m := range e.list {
		e.messages[m.ID] = m
	}
	return e, nil
}

// ApproveEdited is [Pipeline.Approve] of what a run holds as a person has edited it: lines
// may be taken out, and of those that stay statement, tags, reason and quotes changed. All
// else comes from what the run holds, and a file that says otherwise is refused whole, with
// [reverie.ErrInvalid]. Lines that are stale by now are refused one by one.
func (p *Pipeline) ApproveEdited(ctx context.Context, store interface {
	HeldStore
	HandStore
}, hold Hold, row reverie.Run, plans []reverie.HeldPlan, file *reverie.PlanFile) (Result, error) {
	e, err := p.held(ctx, store, row, plans)
	if err != nil {
		return Result{Result: pipeline.Result{GroupID: row.GroupID, RunID: row.ID}}, err
	}
	e.header(file)
	if len(e.unsound) == 0 {
		e.chunks(file)
	}
	if len(e.unsound) > 0 {
		return Result{Result: pipeline.Result{GroupID: row.GroupID, RunID: row.ID}}, fmt.Errorf("nothing was applied: the file is not what run %s holds, or says what no plan may:\n%s\n%w",
			row.ID, listed(e.unsound), reverie.ErrInvalid)
	}
	return p.Approve(ctx, store, hold, row, e.waiting)
}

func (e *heldEdit) say(format string, args ...any) {
	e.unsound = append(e.unsound, fmt.Sprintf(format, args...))
}

// header compares what a file says of a run, and of what its lines rest on, with what that is.
func (e *heldEdit) header(f *reverie.PlanFile) {
	want := heldHeader(e.row, e.waiting[0].Kind)
	is := f.PlanHeader
	if is.RunID != want.RunID {
		e.say("line 1: it holds what run %q holds", is.RunID)
		return
	}
	is.Reverie, is.Format, is.CreatedAt, is.SHA256 = "", 0, time.Time{}, ""
	since, until := is.Since.Equal(want.Since), is.Until.Equal(want.Until)
	is.Since, is.Until = want.Since, want.Until
	if is != want || !since || !until {
		e.say("line 1: group, job, kind, window, model and prompt are those of the run, and cannot be changed")
	}
	heads := map[string]bool{}
	for _, plan := range e.waiting {
		for _, s := range plan.Steps {
			heads[s.Head.MemoryID] = true
		}
	}
	for _, h := range f.Heads {
		now, found := e.heads[h.MemoryID]
		if !heads[h.MemoryID] || found && (now.LineageID != h.LineageID || now.Version != h.Version || now.SHA256() != h.SHA256) {
			e.say("memory %s is none that a line is about, or is not as it was when the file was written", h.MemoryID)
		}
	}
	for _, m := range f.Messages {
		if now, found := e.messages[m.MessageID]; m.Chunk != 0 || found && now.SHA256() != m.SHA256 {
			e.say("message %q is not as it was when the file was written", text.Excerpt(m.MessageID, 60))
		}
	}
}

// chunks makes of what waits what the file says.
func (e *heldEdit) chunks(f *reverie.PlanFile) {
	for _, c := range f.Chunks {
		if !slices.ContainsFunc(e.waiting, func(p reverie.HeldPlan) bool { return p.ChunkNo == c.No }) {
			e.say("chunk %d of the run holds nothing that waits", c.No)
		}
		if len(c.Refusals)+len(c.Decisions)+len(c.Judged) > 0 || c.Answer != "" || c.InputSHA256 != "" || c.Compared != 0 {
			e.say("chunk %d: it has lines that what a run holds has not", c.No)
		}
	}
	for i := range e.waiting {
		plan := &e.waiting[i]
		c := f.Chunk(plan.ChunkNo)
		if c == nil {
			e.say("chunk %d is missing: to take all of its lines out, leave the line of the chunk", plan.ChunkNo)
			continue
		}
		plan.Steps = slices.Clone(plan.Steps)
		before := slices.Clone(plan.Steps)
		stays := map[int]bool{}
		for _, l := range c.Steps {
			if l.No < 1 || l.No > len(plan.Steps) || stays[l.No-1] {
				e.say("line %d: it is none of the steps that chunk %d holds, or one of them again", l.Line, c.No)
				continue
			}
			stays[l.No-1] = true
			replaced := ""
			for _, s := range plan.Steps {
				if s.LineageID == plan.Steps[l.No-1].Replaces {
					replaced = s.Head.MemoryID
				}
			}
			if l.Replaces != replaced {
				e.say("line %d: whose place it takes cannot be changed", l.Line)
			}
			e.step(&plan.Steps[l.No-1], l)
		}
		for n := range plan.Steps {
			if !stays[n] {
				plan.Out = append(plan.Out, n)
			}
		}
		plan.Edited = len(plan.Out) > 0 || !reflect.DeepEqual(before, plan.Steps)
	}
}

// step makes of a step what its line says, where a person may say that.
func (e *heldEdit) step(s *reverie.Step, l reverie.PlanStep) {
	var sources []string
	for _, src := range s.Sources {
		sources = append(sources, src.MemoryID)
	}
	switch {
	case l.Action != s.Action || l.MemoryID != s.Head.MemoryID || l.OldStatement != s.OldStatement || l.As != "" || !l.Held || !slices.Equal(l.Sources, sources):
		e.say("line %d: of a step that is held, statement, tags, change_reason and evidence may be edited; all else is as it was", l.Line)
		return
	case l.Reason != s.Reason:
		s.Reason = safety.CleanReason(e.Privacy.Mask(l.Reason))
	}
	if !slices.Equal(l.Tags, s.Tags) && s.Action != reverie.ActionDelete {
		if slices.Contains(s.Tags, reverie.TagSummary) || slices.Contains(l.Tags, reverie.TagSummary) {
			e.say("line %d: a summary keeps its tags, and nothing else becomes one", l.Line)
		}
		s.Tags = safety.CleanTags(l.Tags)
	}
	if l.Statement != s.Statement {
		e.statement(s, l)
	}
	e.evidence(s, l)
}

// statement gives a step the words of a person.
func (e *heldEdit) statement(s *reverie.Step, l reverie.PlanStep) {
	body, err := e.Privacy.Statement(strings.TrimSpace(l.Statement))
	broken := (*safety.StatementError)(nil)
	switch {
	case slices.Contains(s.Tags, reverie.TagSummary):
		e.say("line %d: a summary cannot be reworded: approve it as it is, or take the line out", l.Line)
	case errors.As(err, &broken) && !broken.Doubtful(): // what is only doubtful a person has read
		e.say("line %d: %v", l.Line, err)
	default:
		s.Statement, s.ContentHash = body, text.ContentHash(body)
	}
}

// evidence gives a step those of its own messages that the line names.
func (e *heldEdit) evidence(s *reverie.Step, l reverie.PlanStep) {
	var list []reverie.Evidence
	for _, q := range l.Evidence {
		i := slices.IndexFunc(s.Evidence, func(ev reverie.Evidence) bool { return ev.MessageID == q.MessageID })
		name := text.Excerpt(q.MessageID, 60)
		if i < 0 || q.Author != s.Evidence[i].Author {
			e.say("line %d: message %q is none that the step rests on, or another's", l.Line, name)
			continue
		}
		if ev := s.Evidence[i]; q.Quote == ev.Quote {
			list = append(list, ev)
			continue
		}
		m, there := e.messages[q.MessageID]
		if !there || m.Role != reverie.RoleUser || q.Quote == "" || !text.VerifyQuote(q.Quote, m.Text) {
			e.say("line %d: “%s” does not stand in message %q, or that is gone", l.Line, text.Excerpt(e.Privacy.Mask(q.Quote), 60), name)
			continue
		}
		list = append(list, safety.EvidenceOf(m, q.Quote, e.loc))
	}
	if len(list) == 0 && len(s.Evidence) > 0 {
		e.say("line %d: the step rests on nothing any more: take the line out instead", l.Line)
	}
	s.Evidence = list
}
