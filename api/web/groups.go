package web

import (
	"errors"
	"strings"

	"reverie"
)

// groupsPerPage is how many groups one page lists.
const groupsPerPage = 50

// groupsView is a page of groups.
type groupsView struct {
	Groups []reverie.GroupReply
	Query  string // that was looked for
	Near   bool   // no group has that id: these are those that follow it
	Next   string // the id that the next page begins after
	First  bool
}

// groupsPage lists groups by id. An id that is looked for leads to its group, or to
// those that come after it.
func (s *site) groupsPage(v *visit) (any, error) {
	search, after := strings.TrimSpace(v.URL.Query().Get("q")), v.URL.Query().Get("after")
	if search != "" {
		g, err := s.Group(v.Context(), search)
		if err == nil {
			return nil, redirect(groupURL(g.ID))
		}
		if !errors.Is(err, reverie.ErrNotFound) {
			return nil, err
		}
	}
	q := reverie.GroupQuery{After: after, Limit: groupsPerPage}
	if search != "" && after == "" {
		q.After = search
	}
	reply, err := s.Groups(v.Context(), q)
	if err != nil {
		return nil, err
	}
	return groupsView{Groups: reply.Groups, Query: search, Near: search != "", Next: reply.Next, First: after == ""}, nil
}
