package web

import (
	"errors"
	"fmt"
	"html/template"
	"strings"

	"reverie/internal/api"
	"reverie/internal/reverie"
)

// groupsPerPage is the number of groups on a page.
const groupsPerPage = 50

// homeView is the overview, and a page of groups.
type homeView struct {
	Overview *overviewView // nil for a search, and on further pages
	Groups   []groupRow
	Query    string // the search text
	Front    string // address of the first page; "" = this is it
	Next     string // address of the next page; "" = none
}

// groupRow is a group with the number of changes to its memories on each recent day.
type groupRow struct {
	reverie.GroupReply
	Activity []int
}

// homePage shows the overview, and lists groups by id. The search for an id redirects to its group; other searches
// list the groups whose id or name contains the text.
func (s *site) homePage(v *visit) (any, error) {
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
	d := homeView{Query: search}
	if d.Groups, err = s.withActivity(v, reply.Groups); err != nil {
		return nil, err
	}
	if after != "" {
		d.Front = query(homeURL, "q", search)
	}
	if reply.Next != "" {
		d.Next = query(homeURL, "q", search, "after", reply.Next)
	}
	if search == "" && after == "" {
		o, err := s.Overview(v.Context())
		d.Overview = &overviewView{o}
		return d, err
	}
	v.title = v.t("groups.title")
	return d, nil
}

// withActivity adds the changes of recent days, read for all groups at once.
func (s *site) withActivity(v *visit, groups []reverie.GroupReply) (rows []groupRow, err error) {
	var ids []string
	for _, g := range groups {
		ids = append(ids, g.ID)
	}
	activity, err := s.Activity(v.Context(), ids)
	for _, g := range groups {
		rows = append(rows, groupRow{g, activity[g.ID]})
	}
	return rows, err
}

// overviewView is the overview.
type overviewView struct{ reverie.Overview }

// Ran sums up the runs of the last day, whatever their status.
func (o overviewView) Ran() (sum reverie.RunCount) {
	for _, c := range o.Runs {
		sum.Runs += c.Runs
		sum.Created += c.Created
		sum.Updated += c.Updated
		sum.Deleted += c.Deleted
	}
	return sum
}

// Failed returns the number of failed runs of the last day.
func (o overviewView) Failed() (n int) {
	for _, c := range o.Runs {
		if c.Status == reverie.RunFailed {
			n += c.Runs
		}
	}
	return n
}

// FailingTotal returns the number of failing jobs, listed or not.
func (o overviewView) FailingTotal() int {
	if len(o.Failing) == 0 {
		return 0
	}
	return o.Failing[0].Total
}

// SilentTotal returns the number of silent groups, listed or not.
func (o overviewView) SilentTotal() int {
	if len(o.Silent) == 0 {
		return 0
	}
	return o.Silent[0].Total
}

// Dimensions of a sparkline.
const (
	sparkStep   = 4
	sparkHeight = 20
)

// spark draws a sparkline of one number per day, scaled to the highest.
func (l lang) spark(days []int) template.HTML {
	total, most := 0, 1
	var path strings.Builder
	for _, n := range days {
		total += n
		most = max(most, n)
	}
	for i, n := range days {
		if n > 0 {
			high := max(n*sparkHeight/most, 2)
			fmt.Fprintf(&path, "M%d %dv-%dh%dv%dz", i*sparkStep, sparkHeight, high, sparkStep-1, high)
		}
	}
	title := l.text("home.activity", total)
	return template.HTML(fmt.Sprintf(`<svg class="spark" viewBox="0 0 %d %d" preserveAspectRatio="none" role="img">`+ //nolint:gosec // digits, and a text of ours
		`<title>%s</title><path class="axis" d="M0 %dH%d"/><path class="bar-fill" d="%s"/></svg>`,
		api.OverviewDays*sparkStep, sparkHeight+1, title, sparkHeight, api.OverviewDays*sparkStep, path.String()))
}
