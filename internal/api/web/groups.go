package web

import (
	"errors"
	"strings"

	"reverie/internal/reverie"
)

// groupsPerPage is how many groups one page lists.
const groupsPerPage = 50

// groupsView is a page of groups.
type groupsView struct {
	Groups []reverie.GroupReply
	Query  string // that was looked for
	Front  string // address of the first page; "" = this is that
	Next   string // address of the next one; "" = there is none
}

// groupsPage lists groups by id. An id that is looked for leads to its group; of anything
// else those are listed whose id or name has it in it.
func (s *site) groupsPage(v *visit) (any, error) {
	search, after := strings.TrimSpace(v.URL.Query().Get("q")), v.URL.Query().Get("after")
	if search != "" && after == "" {
		g, err := s.Group(v.Context(), search)
		if err == nil {
			return nil, redirect(groupURL(g.ID))
		}
		if !errors.Is(err, reverie.ErrNotFound) {
			return nil, err
		}
	}
	reply, err := s.Groups(v.Context(), reverie.GroupQuery{Name: search, After: after, Limit: groupsPerPage})
	if err != nil {
		return nil, err
	}
	d := groupsView{Groups: reply.Groups, Query: search}
	if after != "" {
		d.Front = query(homeURL, "q", search)
	}
	if reply.Next != "" {
		d.Next = query(homeURL, "q", search, "after", reply.Next)
	}
	return d, nil
}
