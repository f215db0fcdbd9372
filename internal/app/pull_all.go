package app

import (
	"cmp"
	"context"
	"fmt"

	"reverie/internal/ingest"
	"reverie/internal/reverie"
)

// CheckImport refuses invalid settings of a new group, and determines the time zone of times without one: zone,
// otherwise the group's, otherwise the configured one.
func (a *App) CheckImport(o *Import, zone string) error {
	if o.Group.ID != "" {
		if err := reverie.CheckGroupID(o.Group.ID); err != nil {
			return err
		}
	}
	if _, err := o.Group.Location(); err != nil {
		return badRequest(err)
	}
	zone = cmp.Or(zone, o.Group.TimeZone, a.Config.Group.TimeZone)
	loc, err := reverie.Group{TimeZone: zone}.Location()
	if err != nil {
		return badRequest(fmt.Errorf("--zone %q: use an IANA name such as Asia/Shanghai", zone))
	}
	o.Read.Zone = loc
	return nil
}

// PullFailure is a chat that could not be pulled.
type PullFailure struct {
	ChatID string `json:"chat_id"`
	Name   string `json:"name"`
	Error  string `json:"error"`
	Err    error  `json:"-"`
}

// PullAll pulls chats one after the other; a failing one does not stop the others. It calls watch before each chat,
// which returns functions for its records and its end.
func (a *App) PullAll(ctx context.Context, o Pull, sessions []ingest.Session,
	watch func(ingest.Session) (onRead func(records int), end func())) (sum ingest.Result, failed []PullFailure,
	err error) {
	sum = ingest.Result{Groups: []*ingest.ChatResult{}, Counts: ingest.Counts{Filtered: map[reverie.Filter]int{}},
		BadBy: map[string]int{}}
	for _, s := range sessions {
		onRead, end := watch(s)
		o.OnRead = onRead
		res, err := a.Pull(ctx, o, s)
		end()
		if res != nil {
			addResult(&sum, *res)
		}
		switch {
		case ctx.Err() != nil:
			return sum, failed, ctx.Err()
		case err != nil:
			failed = append(failed, PullFailure{s.ID, s.Name, reverie.ErrorText(err), err})
		}
	}
	return sum, failed, nil
}

// addResult adds the result of a chat.
func addResult(to *ingest.Result, res ingest.Result) {
	to.Counts.Add(res.Counts)
	to.Bad += res.Bad
	for why, n := range res.BadBy {
		to.BadBy[why] += n
	}
	to.Groups = append(to.Groups, res.Groups...)
}
