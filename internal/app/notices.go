package app

import (
	"context"
	"errors"
	"fmt"

	"reverie/internal/fault"
	"reverie/internal/notify"
	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/jobs"
)

// openNotices opens the configured notifications.
func (a *App) openNotices() (err error) {
	c := a.Config.Notify
	if c.Webhook == "" {
		return nil
	}
	claim := func(ctx context.Context, groupID string, of notify.Type) (bool, error) {
		may, err := a.Store.ClaimNotice(ctx, groupID, string(of), notify.Every)
		return may || fault.Off(fault.Notice), err
	}
	a.notices, err = notify.New(notify.Options{URL: c.Webhook.Reveal(), Secret: c.Secret.Reveal(), Claim: claim, Now: a.Clock, Log: a.Log})
	return err
}

// closeNotices sends waiting notices.
func (a *App) closeNotices() {
	ctx, cancel := context.WithTimeout(context.Background(), parting)
	defer cancel()
	a.notices.Close(ctx)
	a.notices = nil
}

// sendNotices sends notices about a group's result.
func (a *App) sendNotices(r jobs.GroupResult) {
	if a.notices == nil {
		return
	}
	for _, n := range noticesOf(r) {
		a.notices.Send(n)
	}
}

// noticesOf returns the notices about a group's result. They do not quote the chat.
func noticesOf(r jobs.GroupResult) (list []notify.Notice) {
	add := func(of notify.Type, runID, format string, args ...any) {
		list = append(list, notify.Notice{Type: of, GroupID: r.GroupID, RunID: runID, Text: fmt.Sprintf(format, args...)})
	}
	for _, w := range r.Windows {
		switch {
		case w.Status == reverie.RunHeld:
			add(notify.HeldPlan, w.RunID, "Lines of a run of group %[1]q wait for a person (%[3]d); what else the run made is applied. "+
				"`reverie runs show %[2]s` shows them; `reverie runs approve %[2]s` applies them, and `reverie runs reject %[2]s` drops them.",
				r.GroupID, w.RunID, w.Stats.Held)
		case errors.Is(w.Err, reverie.ErrUnusable):
			add(notify.NothingUsed, w.RunID, "Nothing that the model answered for group %q could be used. Its messages stay pending. "+
				"`reverie runs show %s` shows the answers.", r.GroupID, w.RunID)
		case w.Err == nil && w.Stats.Refused > w.Waiting && w.Stats.Cited == 0 && w.Stats.Held == 0 && w.Stats.Considered > 0:
			add(notify.NothingUsed, w.RunID, "Group %q had messages, and every line of the model's answers was refused (%d). "+
				"`reverie runs show %s` says why.", r.GroupID, w.Stats.Refused, w.RunID)
		}
	}
	last := r.Last().RunID
	if r.Parked && r.Outcome == jobs.Failed {
		add(notify.ParkedGroup, last, "Group %q is parked: it has failed too often in a row and is left alone. "+
			"When that is mended: `reverie groups resume %s`.", r.GroupID, text.ShellWord(r.GroupID))
	}
	if spent, ok := errors.AsType[*reverie.BudgetError](r.Err); ok {
		add(notify.BudgetSpent, last, "The work on group %q has stopped: %v. Its messages stay pending.", r.GroupID, spent)
	}
	return list
}
