package web

import (
	"fmt"
	"slices"
	"time"

	"reverie/internal/api"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// costDays are the periods, in days, for which costs can be shown.
var costDays = []int{7, api.CostDays, 90, 180}

// costView is the cost of models.
type costView struct {
	reverie.CostsReply
	Span  int // days
	Spans []int
	Free  bool // nothing cost anything: the picture shows tokens
	Chart chart
}

func (s *site) costPage(v *visit) (any, error) {
	groupID := v.FormValue("group")
	span := v.number("days", api.CostDays)
	if !slices.Contains(costDays, span) {
		span = api.CostDays
	}
	if err := v.aboutFiltered(groupID, "cost"); err != nil {
		return nil, err
	}
	until := v.site.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1) // includes today
	reply, err := s.Costs(v.Context(), reverie.CostQuery{GroupID: groupID, Since: until.AddDate(0, 0, -span),
		Until: until, Limit: api.MaxPage})
	if err != nil {
		return nil, err
	}
	d := costView{CostsReply: reply, Span: span, Spans: costDays, Free: reply.Total.CostUSD == 0}
	d.draw(v, until)
	return d, nil
}

// draw draws the picture of the days, including those without calls.
func (d *costView) draw(v *visit, until time.Time) {
	days := map[string]reverie.Cost{}
	for _, c := range d.Days {
		days[c.Date] = c
	}
	var columns []column
	var first, last string
	for day := until.AddDate(0, 0, -d.Span); day.Before(until); day = day.AddDate(0, 0, 1) {
		last = day.Format(time.DateOnly)
		if first == "" {
			first = last
		}
		c := days[last]
		n := c.CostUSD
		if d.Free {
			n = float64(c.InputTokens + c.OutputTokens)
		}
		columns = append(columns, column{Title: fmt.Sprintf("%s: %s", last,
			v.t("cost.day", c.Calls, text.Compact(c.InputTokens+c.OutputTokens), usd(c.CostUSD))),
			Up: []part{{"bar-cost", n}}})
	}
	title, scale := v.t("cost.chart"), func(n float64) string { return usd(n) + " USD" }
	if d.Free {
		title, scale = v.t("cost.chart_tokens"), func(n float64) string { return text.Compact(int(n)) }
	}
	d.Chart = newChart("cost", title, v.t("cost.desc", first, last), columns, scale)
	d.Chart.First, d.Chart.Last = first, last
}

// Newest returns the days, newest first.
func (d costView) Newest() []reverie.Cost {
	days := slices.Clone(d.Days)
	slices.Reverse(days)
	return days
}

// Tokens returns the tokens read and written by all calls.
func (d costView) Tokens() int { return d.Total.InputTokens + d.Total.OutputTokens }
