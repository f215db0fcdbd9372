package web

import (
	"time"

	"reverie/internal/reverie"
)

// changeView is a change of the log, as the template "change" shows it: what became of a
// statement, why, and by which messages.
type changeView struct {
	reverie.ChangeReply
	GroupID  string
	MemoryID string // the version that it leads to
	RunID    string // of an undo the one that is taken back; "" where the page is the run's own
	ByHand   bool   // by a person
	At       time.Time
	Zone     *time.Location
}

// quotesShown is how many messages a change quotes at once; who asks sees the rest.
const quotesShown = 3

// First is the change with the evidence that is there at once.
func (c changeView) First() changeView {
	c.Evidence = c.Evidence[:min(len(c.Evidence), quotesShown)]
	return c
}

// Rest is the change with the other evidence.
func (c changeView) Rest() changeView {
	c.Evidence = c.Evidence[len(c.First().Evidence):]
	return c
}

// Before is the statement before the change, After the one after it.
func (c changeView) Before() string { return c.OldStatement }

// After is the statement that stands now.
func (c changeView) After() string {
	if c.Action == reverie.ActionCreate {
		return c.Statement
	}
	return c.NewStatement
}

// Reworded tells whether the change is one of words.
func (c changeView) Reworded() bool {
	return c.Before() != "" && c.After() != "" && c.Before() != c.After()
}

// Text is what stands there where nothing is reworded.
func (c changeView) Text() string {
	if c.After() != "" {
		return c.After()
	}
	return c.Before()
}

// Gone tells whether the statement is no longer one of the group's.
func (c changeView) Gone() bool { return c.After() == "" && c.Before() != "" }

// newChange shows a change of a group.
func newChange(groupID string, c reverie.ChangeReply, zone *time.Location) changeView {
	id := c.NewID
	if id == "" {
		id = c.OldID
	}
	return changeView{ChangeReply: c, GroupID: groupID, MemoryID: id, Zone: zone}
}

// loggedChange shows a row of the change log.
func loggedChange(c reverie.Change, groupID string, zone *time.Location) changeView {
	view := newChange(groupID, c.Reply(), zone)
	view.MemoryID, view.At = c.MemoryID, c.CreatedAt
	switch {
	case c.RunID != nil:
		view.RunID = *c.RunID
	case c.UndoneRunID != nil: // that it takes back
		view.RunID = *c.UndoneRunID
	default:
		view.ByHand = c.Action != reverie.ActionUndo
	}
	return view
}
