package web

import (
	"errors"
	"fmt"
	"html/template"
	"strings"

	"reverie/internal/api"
	"reverie/internal/reverie"
)

// groupsPerPage is how many groups one page lists.
const groupsPerPage = 50

// homeView is how everything stands, and a page of groups.
type homeView struct {
	Overview *overviewView // nil where groups are looked for, or gone through
	Groups   []groupRow
	Query    string // that was looked for
	Front    string // address of the first page; "" = this is that
	Next     string // address of the next one; "" = there is none
}

// groupRow is a group, and what was done to its memories on each of the last days.
type groupRow struct {
	reverie.GroupReply
	Activity []int
}

// homePage says how everything stands, and lists groups by id. An id that is looked for
// leads to its group; of anything else those are listed whose id or name has it in it.
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

// withActivity are groups with what was done to their memories, which is read for all of
// them at once.
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

// overviewView is how everything stands.
type overviewView struct{ reverie.Overview }

// Ran are the runs of the last day together, whatever became of them.
func (o overviewView) Ran() (sum reverie.RunCount) {
	for _, c := range o.Runs {
		sum.Runs += c.Runs
		sum.Created += c.Created
		sum.Updated += c.Updated
		sum.Deleted += c.Deleted
	}
	return sum
}

// Failed is how many runs of the last day have failed.
func (o overviewView) Failed() (n int) {
	for _, c := range o.Runs {
		if c.Status == reverie.RunFailed {
			n += c.Runs
		}
	}
	return n
}

// FailingTotal is how much is held up, listed or not.
func (o overviewView) FailingTotal() int {
	if len(o.Failing) == 0 {
		return 0
	}
	return o.Failing[0].Total
}

// SilentTotal is how many groups have fallen silent, listed or not.
func (o overviewView) SilentTotal() int {
	if len(o.Silent) == 0 {
		return 0
	}
	return o.Silent[0].Total
}

// Measures of a sparkline.
const (
	sparkStep   = 4
	sparkHeight = 20
)

// spark is a sparkline of numbers, one for each day: the highest of them fills it.
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
