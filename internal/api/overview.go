package api

import (
	"context"
	"slices"
	"sync"
	"time"

	"reverie/internal/reverie"
)

// What counts as lately, and as silent.
const (
	OverviewDays = CostDays // of activity, today's among them
	overviewRows = 10       // of each list
	silence      = 7        // days without a message after which a group has fallen silent
	day          = 24 * time.Hour
	underWayRows = MaxPage
	underWayAge  = time.Second // a view of what is under way that is shared
)

// Overview says how the groups stand that the caller sees: what ran in the last 24 hours,
// what was spent today and yesterday in UTC, what fails, what waits for a
// person, and which groups have fallen silent in the last [OverviewDays] days.
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

// Activity counts the changes of memories of some groups on each of the last
// [OverviewDays] days of UTC, the last of them today. Groups without any, and those that
// the caller does not see, are left out.
func (s *Service) Activity(ctx context.Context, groupIDs []string) (map[string][]int, error) {
	ctx, confined, err := reading(ctx, "", reverie.ScopeRead, within("groups", len(groupIDs), 0, MaxPage))
	if err != nil {
		return nil, err
	}
	groupIDs = slices.DeleteFunc(slices.Clone(groupIDs), func(id string) bool { return confined != "" && id != confined })
	since := s.now().Truncate(day).AddDate(0, 0, 1-OverviewDays)
	return s.past().Activity(ctx, groupIDs, since, OverviewDays)
}

// underWay is what is under way in all groups, read once for all who watch it.
type underWay struct {
	mu   sync.Mutex
	read time.Time
	runs []reverie.RunProgress
}

// UnderWay lists the runs that are under way in a group, or in all that the caller sees
// where it is "": the newest first. However many ask, and however often, the database is
// asked once a second.
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
