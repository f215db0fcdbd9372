package web

import (
	"fmt"
	"html/template"
	"strconv"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// mostResting is how many memories are shown that were made of one.
const mostResting = 20

// memoryData is a memory, and what stands behind it.
type memoryData struct {
	Head     reverie.Memory // what it says now, or said last
	Core     bool
	Old      int // the version that was asked for, where it is not the head's; else 0
	Versions []memoryVersion
	Resting  []reverie.Resting // the first that were made of it
	More     int               // and how many others
	Usage    reverie.UsageCount
}

// Standing is the status of a version. Of those that do not stand the newest one was
// deleted, and each other has another in its place.
func (d memoryData) Standing(m reverie.Memory) string {
	switch {
	case m.Status != reverie.StatusDeprecated:
		return string(m.Status)
	case m.ID == d.Head.ID:
		return "deleted"
	}
	return "superseded"
}

// memoryVersion is a version, and the text before it.
type memoryVersion struct {
	reverie.WhyVersion
	Before string // statement of the version before; "" of the first
	Asked  bool
}

// Reworded tells whether the version says something else than the one before.
func (m memoryVersion) Reworded() bool { return m.Before != "" && m.Before != m.Memory.Statement }

func (s *site) memoryPage(v *visit) (any, error) {
	id := v.PathValue("memory")
	why, err := s.Why(v.Context(), id)
	if err != nil {
		return nil, err
	}
	if _, err := v.about(why.Memory.GroupID, "memories"); err != nil {
		return nil, err
	}
	d := memoryData{Head: why.Memory, Core: why.Memory.Weight >= reverie.CoreWeight, Usage: why.Usage,
		Resting: why.Resting}
	if d.More = len(d.Resting) - mostResting; d.More > 0 {
		d.Resting = d.Resting[:mostResting]
	}
	v.title = text.Excerpt(d.Head.Statement, 60)
	before := ""
	for _, version := range why.Versions {
		m := memoryVersion{WhyVersion: version, Before: before, Asked: version.Memory.ID == id}
		if m.Asked && id != d.Head.ID {
			d.Old = version.Memory.Version
		}
		before = version.Memory.Statement
		d.Versions = append([]memoryVersion{m}, d.Versions...) // the newest first
	}
	return d, nil
}

// memoryDeletePage asks whether a memory is to be deleted.
func (s *site) memoryDeletePage(v *visit) (any, error) {
	if !v.may(reverie.ScopeWrite) {
		return nil, fmt.Errorf("deleting a memory needs a token of scope write: %w", reverie.ErrForbidden)
	}
	data, err := s.memoryPage(v)
	if err != nil {
		return nil, err
	}
	d := data.(memoryData)
	if d.Old != 0 || d.Head.Status != reverie.StatusActive {
		return nil, redirect(memoryURL(d.Head.ID))
	}
	v.title = v.t("memory.delete")
	return d.Head, nil
}

func (s *site) deleteMemory(v *visit) (string, error) {
	return s.editMemory(v, reverie.Edit{Action: reverie.ActionDelete, Reason: v.PostFormValue("reason")},
		"notice.memory_deleted")
}

func (s *site) restoreMemory(v *visit) (string, error) {
	return s.editMemory(v, reverie.Edit{Action: reverie.ActionRestore}, "notice.memory_restored")
}

func (s *site) strengthenMemory(v *visit) (string, error) {
	body := v.PostFormValue("strength")
	value, err := strconv.ParseFloat(body, 64)
	if err != nil {
		return "", fmt.Errorf("strength %q is no number: write one from 0 to 1: %w", text.Excerpt(body, 40),
			reverie.ErrInvalid)
	}
	return s.editMemory(v, reverie.Edit{Action: reverie.ActionStrength, Value: value}, "notice.memory_strength")
}

// editMemory makes an edit of the memory that the path names, and goes on with its page.
func (s *site) editMemory(v *visit, e reverie.Edit, said string) (string, error) {
	e.MemoryID = v.PathValue("memory")
	reply, err := s.Edit(v.Context(), e)
	if err != nil {
		return "", err
	}
	v.notify(said)
	return memoryURL(reply.ID), nil
}

// because says why a memory is judged again.
func (l lang) because(reason string) template.HTML {
	if l == chinese {
		reason = reverie.JudgeReasonChinese(reason)
	}
	return say(reason)
}
