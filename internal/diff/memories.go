package diff

import (
	"cmp"
	"slices"
	"time"
	"unicode/utf8"

	"reverie/internal/reverie"
)

// Memories compares what a group remembered at two instants.
func Memories(b reverie.Between) reverie.MemoryDiff {
	d := reverie.MemoryDiff{GroupID: b.GroupID, From: b.From.UTC(), To: b.To.UTC(),
		Added: []reverie.DiffEntry{}, Changed: []reverie.DiffEntry{}, Gone: []reverie.DiffEntry{}}
	for _, versions := range lineages(b.Versions) {
		before, after := activeAt(versions, b.From), activeAt(versions, b.To)
		e := reverie.DiffEntry{LineageID: versions[0].LineageID, Kind: versions[0].Kind, Before: version(before), After: version(after), Steps: steps(b, versions)}
		switch {
		case before == nil && after == nil || before != nil && after != nil && same(*before, *after):
			if e.Before = cmp.Or(e.Before, version(lastActive(versions))); e.Before != nil && len(e.Steps) > 0 {
				d.Passing = append(d.Passing, e)
			}
		case before == nil:
			e.Back = !after.CreatedAt.After(b.From)
			d.Added = append(d.Added, e)
		case after == nil:
			d.Gone = append(d.Gone, e)
		default:
			if before.Statement != after.Statement {
				e.Marked = Marked(before.Statement, after.Statement)
			}
			d.Changed = append(d.Changed, e)
		}
	}
	d.Counts = reverie.DiffCounts{Added: len(d.Added), Changed: len(d.Changed), Gone: len(d.Gone), Passing: len(d.Passing),
		Unchanged: b.Active - len(d.Added) - len(d.Changed)}
	return d
}

// lineages groups versions by lineage, in the given order.
func lineages(versions []reverie.Memory) [][]reverie.Memory {
	var list [][]reverie.Memory
	for _, m := range versions {
		if n := len(list); n > 0 && list[n-1][0].LineageID == m.LineageID {
			list[n-1] = append(list[n-1], m)
			continue
		}
		list = append(list, []reverie.Memory{m})
	}
	return list
}

// activeAt returns the version that was active at an instant, nil if none was.
func activeAt(versions []reverie.Memory, at time.Time) *reverie.Memory {
	for i, m := range slices.Backward(versions) {
		if !m.UpdatedAt.After(at) && (m.Status == reverie.StatusActive || m.EndedAt != nil && m.EndedAt.After(at)) {
			return &versions[i]
		}
	}
	return nil
}

// lastActive returns the newest version that was ever active, nil if none was.
func lastActive(versions []reverie.Memory) *reverie.Memory {
	for i, m := range slices.Backward(versions) {
		if m.Status == reverie.StatusActive || m.EndedAt != nil && m.EndedAt.After(m.UpdatedAt) {
			return &versions[i]
		}
	}
	return nil
}

func version(m *reverie.Memory) *reverie.DiffVersion {
	if m == nil {
		return nil
	}
	return &reverie.DiffVersion{MemoryID: m.ID, Version: m.Version, Statement: m.Statement, Tags: append([]string{}, m.Tags...)}
}

func same(a, b reverie.Memory) bool {
	return a.Statement == b.Statement && slices.Equal(a.Tags, b.Tags)
}

// steps returns the changes of a lineage between the two instants, oldest first.
func steps(b reverie.Between, versions []reverie.Memory) []reverie.DiffStep {
	within := func(at time.Time) bool { return at.After(b.From) && !at.After(b.To) }
	list := []reverie.DiffStep{}
	for i, m := range versions {
		if within(m.UpdatedAt) {
			step := b.Made[m.ID]
			step.At, step.Version, step.MemoryID = m.UpdatedAt, m.Version, m.ID
			list = append(list, step)
		}
		if m.EndedAt == nil || !within(*m.EndedAt) || !m.EndedAt.After(m.UpdatedAt) {
			continue
		}
		step, known := b.Ended[m.ID]
		switch {
		case known:
		case i+1 < len(versions) && reverie.OneChange(*m.EndedAt, versions[i+1].UpdatedAt):
			continue // the next version replaced it
		default:
			step = reverie.DiffStep{Action: reverie.ActionHold}
		}
		step.At, step.Version, step.MemoryID = *m.EndedAt, m.Version, m.ID
		list = append(list, step)
	}
	return list
}

// Blame says which version of a memory wrote each of its words, given the memory's history.
func Blame(why reverie.Why) reverie.Blame {
	b := reverie.Blame{Memory: why.Memory, Words: []reverie.BlameWords{}, Versions: make([]reverie.BlameVersion, len(why.Versions))}
	texts := make([]string, len(why.Versions))
	for i, v := range why.Versions {
		texts[i] = v.Memory.Statement
		b.Versions[i] = blamed(v)
	}
	for _, o := range Origins(texts) {
		v := &b.Versions[o.From]
		v.Remaining += utf8.RuneCountInString(o.Text)
		b.Words = append(b.Words, reverie.BlameWords{Text: o.Text, Version: v.Version})
	}
	return b
}

func blamed(v reverie.WhyVersion) reverie.BlameVersion {
	m := v.Memory
	b := reverie.BlameVersion{Version: m.Version, MemoryID: m.ID, Status: m.Status, Statement: m.Statement, At: m.SaidAt,
		Action: v.Action, Reason: v.Reason, UndoneRunID: v.UndoneRunID, Approved: v.Approved, Sources: v.Sources,
		Evidence: append(append([]reverie.Evidence{}, v.Evidence...), v.Withdrawn...)}
	if r := v.Run; r != nil {
		b.Run = &reverie.BlameRun{RunID: r.ID, Job: r.Job, ChunkNo: v.ChunkNo, Model: r.Model, PromptVersion: r.PromptVersion,
			PromptSHA256: r.PromptSHA256, UndoneAt: r.UndoneAt}
	}
	return b
}
