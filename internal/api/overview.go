package api

import (
	"context"
	"slices"
	"sync"
	"time"

	"reverie/internal/reverie"
)

// What counts as recent, and as silent.
const (
	OverviewDays = CostDays // days of activity, including today
	overviewRows = 10       // of each list
	silence      = 7        // days without a message after which a group is silent
	day          = 24 * time.Hour
	underWayRows = MaxPage
	underWayAge  = time.Second // how long a shared view of running runs is used
)

// Overview returns the state of the groups that the caller sees: the runs of the last 24 hours, failures and held
// plans. It also has the spend of today and yesterday in UTC, and the groups that became silent in the last
// [OverviewDays] days.
func (s *Service) Overview(ctx context.Context) (reverie.Overview, error) {
	ctx, confined, err := reading(ctx, "", reverie.ScopeRead)
	if err != nil {
		return reverie.Overview{}, err
	}
	now := s.now()
	return s.past().Overview(ctx, reverie.OverviewQuery{GroupID: confined, Night: now.Add(-day), Today: now.Truncate(day),
		SilentSince: now.AddDate(0, 0, -silence),
		SpokeSince:  now.AddDate(0, 0, -silence-OverviewDays), Limit: overviewRows})
}

// Activity counts the changes to memories of some groups on each of the last [OverviewDays] days in UTC, including
// today. It omits groups without changes and those that the caller does not see.
func (s *Service) Activity(ctx context.Context, groupIDs []string) (map[string][]int, error) {
	ctx, confined, err := reading(ctx, "", reverie.ScopeRead, within("groups", len(groupIDs), 0, MaxPage))
	if err != nil {
		return nil, err
	}
	groupIDs = slices.DeleteFunc(slices.Clone(groupIDs), func(id string) bool { return confined != "" && id != confined })
	since := s.now().Truncate(day).AddDate(0, 0, 1-OverviewDays)
	return s.past().Activity(ctx, groupIDs, since, OverviewDays)
}

// underWay holds the running runs of all groups, read once for all watchers.
type underWay struct {
	mu   sync.Mutex
	read time.Time
	runs []reverie.RunProgress
}

// UnderWay lists the running runs of a group, or with "" of all groups that the caller sees: newest first. It
// queries the database at most once a second, whatever the number of requests.
func (s *Service) UnderWay(ctx context.Context, groupID string) ([]reverie.RunProgress, error) {
	_, confined, err := reading(ctx, groupID, reverie.ScopeRead)
	if err != nil {
		return nil, err
	}
	s.underWay.mu.Lock()
	defer s.underWay.mu.Unlock()
	if now := s.now(); now.Sub(s.underWay.read).Abs() >= underWayAge {
		all, _, err := reading(WithCaller(ctx, Anyone), "", reverie.ScopeRead)
		if err != nil {
			return nil, err
		}
		if s.underWay.runs, err = s.past().UnderWay(all, underWayRows); err != nil {
			return nil, err
		}
		s.underWay.read = now
	}
	others := func(r reverie.RunProgress) bool { return confined != "" && confined != r.GroupID }
	return slices.DeleteFunc(slices.Clone(s.underWay.runs), others), nil
}
