package web

import (
	"cmp"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// mostResting is how many memories are shown that were made of one.
const mostResting = 20

// memoryData is a memory, and what stands behind it.
type memoryData struct {
	Head     reverie.Memory // what it says now, or said last
	Since    time.Time      // when the chat said it first
	Core     bool
	Old      int // the version that was asked for, where it is not the head's; else 0
	Versions []memoryVersion
	Resting  []reverie.Resting // the first that were made of it
	More     int               // and how many others
	Usage    reverie.UsageCount
	Types    []reverie.Type // that it can be given; none where it can have no other words
}

// Standing is the status of a version, in the page's words.
func (d memoryData) Standing(m reverie.Memory) string {
	if m.Status == reverie.StatusDeprecated {
		return "deleted"
	}
	return string(m.Status)
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
	if err := v.about(why.Memory.GroupID, "memories"); err != nil {
		return nil, err
	}
	d := memoryData{Head: why.Memory, Since: why.Since, Core: why.Memory.Weight >= reverie.CoreWeight, Usage: why.Usage,
		Resting: why.Resting}
	if d.More = len(d.Resting) - mostResting; d.More > 0 {
		d.Resting = d.Resting[:mostResting]
	}
	if d.Head.Wordable() == nil {
		d.Types = reverie.Types()
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
	if !v.May(reverie.ScopeWrite) {
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

// rewriteMemory gives a memory the words of its form. A date is of a plan alone.
func (s *site) rewriteMemory(v *visit) (string, error) {
	w := reverie.Words{Statement: v.PostFormValue("statement"), Tags: strings.FieldsFunc(v.PostFormValue("tags"),
		func(r rune) bool { return strings.ContainsRune(",，、", r) }), Type: reverie.Type(v.PostFormValue("type"))}
	if w.DueOn = cmp.Or(v.PostFormValue("due"), reverie.NoDate); w.Type != reverie.TypePlan {
		w.DueOn = ""
	}
	w.Tags = append([]string{}, w.Tags...)
	return s.editMemory(v, reverie.Edit{Action: reverie.ActionUpdate, Reason: v.PostFormValue("reason"), Words: w},
		"notice.memory_edited")
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

// editMemory makes an edit of the memory that the path names, and goes on with its page, or
// with the list in which it was made.
func (s *site) editMemory(v *visit, e reverie.Edit, said string) (string, error) {
	e.MemoryID = v.PathValue("memory")
	reply, err := s.Edit(v.Context(), e)
	if err != nil {
		return "", err
	}
	v.notify(said)
	if list := v.PostFormValue("list"); list != "" {
		return localPath(list), nil
	}
	return memoryURL(reply.ID), nil
}

// because says why a memory is judged again.
func (l lang) because(reason string) template.HTML {
	if l == chinese {
		reason = reverie.JudgeReasonChinese(reason)
	}
	return say(reason)
}

// memoriesShown is how many memories a page lists.
const memoriesShown = 50

// memoriesData is a page of a group's memories.
type memoriesData struct {
	Statuses, Kinds, Types, Orders       []string // to choose from
	Text, Status, Kind, Type, Tag, Order string   // as they were chosen
	Core                                 bool
	At                                   string // the date as of whose beginning they are; "" = now
	Recorded                             bool   // that goes by when they were written
	Memories                             []reverie.Memory
	Total, From, To                      int
	Before, After                        string // addresses of the pages beside it; "" = none
	Editing                              string // the memory that is edited where it stands; "" = none
	List                                 string // this page, without that
	editable                             bool   // by the visitor, as they are now
}

// EditTypes are the types that a memory can be given.
func (memoriesData) EditTypes() []reverie.Type { return reverie.Types() }

// EditURL is the page on which a memory is edited where it stands; "" where it cannot be.
func (d memoriesData) EditURL(m reverie.Memory) string {
	if !d.editable || m.Status != reverie.StatusActive || m.Wordable() != nil {
		return ""
	}
	separator := "?"
	if strings.Contains(d.List, "?") {
		separator = "&"
	}
	return d.List + separator + "edit=" + m.ID + "#edit"
}

// What a list of memories may be narrowed to. The first is what it shows unless told
// otherwise.
var (
	memoryStatuses = []string{"active", "archived", "held", "superseded", "deprecated", "all"}
	memoryKinds    = []string{"all", "group", "session", "dream", "team"}
	memoryTypes    = append([]string{"all"}, strs(reverie.Types())...)
	memoryOrders   = strs(reverie.MemoryOrders)
)

func strs[T ~string](list []T) (plain []string) {
	for _, value := range list {
		plain = append(plain, string(value))
	}
	return plain
}

func (s *site) memoriesPage(v *visit) (any, error) {
	d := memoriesData{Statuses: memoryStatuses, Kinds: memoryKinds, Types: memoryTypes, Orders: memoryOrders, Text: v.FormValue("q"),
		Tag: v.FormValue("tag"), Core: v.FormValue("core") != "", At: v.FormValue("at"), Recorded: v.FormValue("recorded") != "",
		Status: v.choice("status", memoryStatuses), Kind: v.choice("kind", memoryKinds), Type: v.choice("type", memoryTypes),
		Order: v.choice("sort", memoryOrders), Editing: v.FormValue("edit"), List: v.with("edit", "")}
	d.editable = v.May(reverie.ScopeWrite) && d.At == ""
	offset := v.number("offset", 0)
	at, err := s.Beginning(v.Group.Group, d.At)
	if err != nil {
		return nil, err
	}
	list, err := s.List(v.Context(), reverie.MemoryQuery{GroupID: v.Group.ID, Status: reverie.Status(notAll(d.Status)),
		Kind: reverie.Kind(notAll(d.Kind)),
		Tag:  d.Tag, Core: d.Core, At: at, Recorded: d.Recorded, Type: reverie.Type(notAll(d.Type)), Text: d.Text,
		Order: reverie.MemoryOrder(d.Order), Limit: memoriesShown, Offset: offset})
	if err != nil {
		return nil, err
	}
	d.Memories, d.Total, d.From, d.To = list.Memories, list.Total, offset+1, offset+len(list.Memories)
	d.Before, d.After = v.pages(offset, memoriesShown, list.Total)
	return d, nil
}

// notAll is a choice as the domain has it.
func notAll(chosen string) string {
	if chosen == "all" {
		return ""
	}
	return chosen
}

// pages are the addresses of the pages before and after this one, of so many rows each;
// "" where there is none.
func (v *visit) pages(offset, rows, total int) (before, after string) {
	if offset > 0 {
		before = v.with("offset", fmt.Sprint(max(offset-rows, 0)))
	}
	if offset+rows < total {
		after = v.with("offset", fmt.Sprint(offset+rows))
	}
	return before, after
}

// with is the address of this page with another value in its query, "" for none.
func (v *visit) with(name, value string) string {
	q := v.URL.Query()
	q.Del("lang")
	q.Del("edit")
	if q.Set(name, value); value == "" {
		q.Del(name)
	}
	if len(q) == 0 {
		return v.URL.EscapedPath()
	}
	return v.URL.EscapedPath() + "?" + q.Encode()
}

// diffData is how a group's memories differ between the beginnings of two dates.
type diffData struct {
	From, To string // as they were chosen; To "" = now
	Recorded bool   // they go by when memories were written
	Kinds    []string
	Kind     string
	Reply    *reverie.DiffReply // nil until dates are chosen
	Parts    []diffPart
}

// diffPart are the memories of one sort of difference.
type diffPart struct {
	Sort string // added, changed, gone
	List []reverie.DiffEntry
}

func (s *site) diffPage(v *visit) (any, error) {
	d := diffData{From: v.FormValue("from"), To: v.FormValue("to"), Recorded: v.FormValue("recorded") != "", Kinds: memoryKinds, Kind: v.choice("kind", memoryKinds)}
	if d.From == "" {
		return d, nil
	}
	q := reverie.BetweenQuery{GroupID: v.Group.ID, Recorded: d.Recorded, Kind: reverie.Kind(notAll(d.Kind))}
	var fromErr, toErr error
	q.From, fromErr = s.Beginning(v.Group.Group, d.From)
	q.To, toErr = s.Beginning(v.Group.Group, d.To)
	if err := cmp.Or(fromErr, toErr); err != nil {
		return nil, err
	}
	reply, err := s.Diff(v.Context(), q, false)
	if err != nil {
		return nil, err
	}
	d.Reply, d.Parts = &reply, []diffPart{{"added", reply.Added}, {"changed", reply.Changed}, {"gone", reply.Gone}}
	return d, nil
}
