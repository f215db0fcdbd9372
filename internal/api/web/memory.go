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

// mostResting is the maximum number of dependent memories shown.
const mostResting = 20

// memoryData is a memory and its history.
type memoryData struct {
	Head     reverie.Memory // the head version, or the last one
	Since    time.Time      // when the chat first said it
	Core     bool
	Old      int // the requested version, if it is not the head; else 0
	Versions []memoryVersion
	Resting  []reverie.Resting // the first memories that have it as a source
	More     int               // number of further ones
	Usage    reverie.UsageCount
	Types    []reverie.Type // possible types; none if it cannot be reworded
}

// Standing returns the status of a version, in the page's words.
func (d memoryData) Standing(m reverie.Memory) string {
	if m.Status == reverie.StatusDeprecated {
		return "deleted"
	}
	return string(m.Status)
}

// memoryVersion is a version with the previous statement.
type memoryVersion struct {
	reverie.WhyVersion
	Before string // the previous statement; "" for the first version
	Asked  bool
}

// Reworded reports whether the version changed the statement.
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
		d.Versions = append([]memoryVersion{m}, d.Versions...) // newest first
	}
	return d, nil
}

// memoryDeletePage asks for confirmation to delete a memory.
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

// rewriteMemory rewords a memory with the values of a form. Only a plan has a date.
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

// editMemory applies an edit to the memory in the path, and continues with its page, or with the list that
// contained the form.
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

// memoriesShown is the number of memories on a page.
const memoriesShown = 50

// memoriesData is a page of a group's memories.
type memoriesData struct {
	Statuses, Kinds, Types, Orders       []string // the choices
	Text, Status, Kind, Type, Tag, Order string   // the chosen values
	Core                                 bool
	At                                   string // the list shows the beginning of this date; "" = now
	Recorded                             bool   // At is in the time of writing
	Memories                             []reverie.Memory
	Total, From, To                      int
	Before, After                        string // addresses of the adjacent pages; "" = none
	Editing                              string // the memory that is being edited in the list; "" = none
	List                                 string // this page, without that
	editable                             bool   // the visitor may edit them, since the list is current
}

// EditTypes are the possible types of a memory.
func (memoriesData) EditTypes() []reverie.Type { return reverie.Types() }

// EditURL returns the page for editing a memory in the list; "" if it cannot be edited.
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

// Filters of a list of memories. The first is the default.
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

// notAll returns a choice for the domain: "" for all.
func notAll(chosen string) string {
	if chosen == "all" {
		return ""
	}
	return chosen
}

// pages returns the addresses of the previous and next page of that many rows; "" if there is none.
func (v *visit) pages(offset, rows, total int) (before, after string) {
	if offset > 0 {
		before = v.with("offset", fmt.Sprint(max(offset-rows, 0)))
	}
	if offset+rows < total {
		after = v.with("offset", fmt.Sprint(offset+rows))
	}
	return before, after
}

// with returns this page's address with a changed query parameter, removed if the value is "".
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

// diffData compares a group's memories at the beginnings of two dates.
type diffData struct {
	From, To string // the chosen dates; To "" = now
	Recorded bool   // in the time of writing
	Kinds    []string
	Kind     string
	Reply    *reverie.DiffReply // nil until dates are chosen
	Parts    []diffPart
}

// diffPart are the memories with one kind of difference.
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
