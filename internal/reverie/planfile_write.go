package reverie

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// Write writes a plan, a line for each thing. It fills in what every plan says of itself:
// it is as it was written.
func (f *PlanFile) Write(w io.Writer) error {
	var lines bytes.Buffer
	f.Reverie, f.Format = planMark, PlanFormat
	var err error
	if f.SHA256, err = f.sum(); err != nil {
		return err
	}
	f.Sum = f.SHA256
	if err := f.encode(&lines); err != nil {
		return err
	}
	_, err = w.Write(lines.Bytes())
	return err
}

// sum is the hash of the plan's lines in the form in which they are written, the hash
// itself and the seals left empty.
func (f *PlanFile) sum() (string, error) {
	bare := *f
	bare.SHA256, bare.Origin, bare.Seal = "", "", ""
	bare.Chunks = slices.Clone(f.Chunks)
	for i := range bare.Chunks {
		bare.Chunks[i].Origin = ""
	}
	h := sha256.New()
	if err := bare.encode(h); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// encode writes the lines in their one order.
func (f *PlanFile) encode(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	lines := []any{f.PlanHeader}
	for _, h := range f.Heads {
		h.Type = planHead
		lines = append(lines, h)
	}
	for _, m := range f.Messages {
		if m.Type = planMessage; m.Chunk == 0 {
			m.Type = planContext
		}
		lines = append(lines, m)
	}
	for _, c := range f.Chunks {
		lines = append(lines, c.lines()...)
	}
	lines = append(lines, struct {
		Type string `json:"type"`
	}{planEnd})
	for _, l := range lines {
		if err := enc.Encode(l); err != nil {
			return fmt.Errorf("write the plan: %w", err)
		}
	}
	return nil
}

// lines are the lines of a chunk.
func (c PlanChunk) lines() []any {
	c.Type = planChunk
	list := []any{c}
	for _, s := range c.Steps {
		s.Type, s.Chunk = planStep, c.No
		list = append(list, s)
	}
	for _, r := range c.Refusals {
		r.Type, r.Chunk = planRefusal, c.No
		list = append(list, r)
	}
	for _, d := range c.Decisions {
		d.Type, d.Chunk = planDecision, c.No
		list = append(list, d)
	}
	return list
}

// Add adds what a chunk would write to a plan: the names of what it writes are given here.
// The ids of versions that earlier chunks were to write are known from them.
func (f *PlanFile) Add(c PlanChunk, plan Plan, names map[string]string) {
	c.No, c.Held, c.Whole = plan.ChunkNo, plan.HeldReason, plan.HeldAll
	labels := f.labels()
	named := func(id string) string { return names[id] }
	lineages := map[string]string{} // lineage -> how its version is named that the plan ends
	write := func(s Step, held bool) {
		l := PlanStep{Action: s.Action, MemoryID: named(s.Head.MemoryID), OldStatement: s.OldStatement, Statement: s.Statement,
			Tags: s.Tags, Reason: s.Reason, Held: held}
		if s.MemoryID != "" {
			labels++
			l.As = planLabel(labels)
			names[s.MemoryID] = l.As
		}
		lineages[s.LineageID] = l.MemoryID
		for _, e := range s.Evidence {
			l.Evidence = append(l.Evidence, PlanQuote{MessageID: e.MessageID, Author: e.Author, Quote: e.Quote})
		}
		for _, src := range s.Sources {
			l.Sources = append(l.Sources, src.MemoryID)
		}
		c.Steps = append(c.Steps, l)
	}
	for _, s := range plan.Steps {
		write(s, false)
	}
	for _, s := range plan.Held {
		write(s, true)
	}
	for i, s := range append(append([]Step{}, plan.Steps...), plan.Held...) {
		c.Steps[i].Replaces = lineages[s.Replaces]
	}
	for _, r := range plan.Refusals {
		c.Refusals = append(c.Refusals, PlanRefusal{Refusal: r})
	}
	for _, d := range plan.Decisions {
		l := PlanDecision{No: d.No, Statement: d.Statement, Action: d.Action, Basis: d.Basis, TargetID: named(d.TargetID), MemoryID: named(d.MemoryID),
			Reason: d.Reason, Model: d.Model, PromptVersion: d.PromptVersion, PromptSHA256: d.PromptSHA256, Calls: d.Calls}
		for _, can := range d.Candidates {
			can.MemoryID = named(can.MemoryID)
			l.Candidates = append(l.Candidates, can)
		}
		c.Decisions = append(c.Decisions, l)
	}
	f.Chunks = append(f.Chunks, c)
}

// labels is how many versions have a name.
func (f *PlanFile) labels() (n int) {
	for _, c := range f.Chunks {
		for _, s := range c.Steps {
			if s.As != "" {
				n++
			}
		}
	}
	return n
}
