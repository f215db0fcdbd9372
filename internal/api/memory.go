package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"reverie/internal/diff"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/jobs"
)

// List returns a page of a group's memories.
func (s *Service) List(ctx context.Context, q reverie.MemoryQuery) (reverie.ListReply, error) {
	ctx, _, err := reading(ctx, q.GroupID, reverie.ScopeRead, page(q.Limit, q.Offset), queryLength(q.Text),
		oneOf("type", q.Type, reverie.Types()), oneOf("order", q.Order, reverie.MemoryOrders))
	if err != nil {
		return reverie.ListReply{}, err
	}
	list, total, err := s.Store.ListMemories(ctx, q)
	return reverie.ListReply{Success: err == nil, GroupID: q.GroupID, Total: total, Memories: list}, err
}

// within checks a number.
func within(what string, n, least, most int) error {
	if n < least || n > most {
		return fmt.Errorf("%s %d: it is %d to %d: %w", what, n, least, most, reverie.ErrInvalid)
	}
	return nil
}

// page checks the range of rows.
func page(limit, offset int) error {
	if limit < 1 || limit > MaxPage || offset < 0 || offset > MaxOffset {
		return fmt.Errorf("limit %d, offset %d: a limit of 1 to %d and an offset of 0 to %d are needed: %w",
			limit, offset, MaxPage, MaxOffset, reverie.ErrInvalid)
	}
	return nil
}

// Search returns the memories of a group that are nearest to a text, best first.
func (s *Service) Search(ctx context.Context, q recall.Query) (reverie.SearchReply, error) {
	ctx, _, err := reading(ctx, q.GroupID, reverie.ScopeRead,
		page(q.Limit, 0), queryLength(q.Text), threshold(q.Threshold))
	if err != nil {
		return reverie.SearchReply{}, err
	}
	searcher, err := s.Searcher(ctx, q.GroupID)
	if err != nil {
		return reverie.SearchReply{}, err
	}
	found, err := searcher.Search(ctx, q)
	if err != nil {
		return reverie.SearchReply{}, err
	}
	if found.Total == 0 { // the group may not exist
		if _, err := s.Store.Group(ctx, q.GroupID); err != nil {
			return reverie.SearchReply{}, err
		}
	}
	return found.Reply(q), nil
}

func threshold(t float64) error {
	if t >= 0 && t <= 1 { // false for NaN
		return nil
	}
	return fmt.Errorf("threshold %v: it is 0 to 1: %w", t, reverie.ErrInvalid)
}

func queryLength(text string) error {
	if n := len([]rune(text)); n > MaxQuery {
		return fmt.Errorf("the query has %d characters: %d is the most: %w", n, MaxQuery, reverie.ErrInvalid)
	}
	return nil
}

// History returns all versions of the lineage of a version. With an instant, it returns those that existed then,
// with their status of that time.
func (s *Service) History(ctx context.Context, memoryID string, at reverie.When) (reverie.HistoryReply, error) {
	ctx, groupID, memoryID, err := s.readingOf(ctx, reverie.IDMemory, "", memoryID)
	if err != nil {
		return reverie.HistoryReply{}, err
	}
	versions, err := s.past().HistoryAt(ctx, groupID, memoryID, at)
	if err != nil {
		return reverie.HistoryReply{}, err
	}
	kept := newest(versions)
	reply := reverie.NewHistoryReply(versions[len(versions)-1].ID, kept)
	reply.Cut = len(kept) < len(versions)
	return reply, nil
}

// newest returns the last elements of a list, up to the limit of an answer.
func newest[T any](list []T) []T { return list[max(0, len(list)-MaxVersions):] }

// Why returns the history of the lineage of a version.
func (s *Service) Why(ctx context.Context, memoryID string) (reverie.WhyReply, error) {
	ctx, groupID, memoryID, err := s.readingOf(ctx, reverie.IDMemory, "", memoryID)
	if err != nil {
		return reverie.WhyReply{}, err
	}
	why, err := s.past().Why(ctx, groupID, memoryID)
	if err != nil {
		return reverie.WhyReply{}, err
	}
	kept := newest(why.Versions)
	cut := len(kept) < len(why.Versions)
	why.Versions = kept
	return reverie.WhyReply{Success: true, GroupID: why.Memory.GroupID, Why: why, Cut: cut}, nil
}

// Memory returns the memory of a version, with its quotes and its versions.
func (s *Service) Memory(ctx context.Context, memoryID string) (reverie.ShowReply, error) {
	why, err := s.Why(ctx, memoryID)
	if err != nil {
		return reverie.ShowReply{}, err
	}
	r := reverie.NewShowReply(why.Why)
	r.Cut = why.Cut
	return r, nil
}

// JudgeAgain returns which of some memories the next run of evolve judges again, and why, by id.
func (s *Service) JudgeAgain(ctx context.Context, groupID string, memoryIDs []string) (map[string]string, error) {
	ctx, _, err := reading(ctx, groupID, reverie.ScopeRead)
	if err != nil || len(memoryIDs) == 0 {
		return nil, err
	}
	return s.Store.JudgeAgain(ctx, groupID, memoryIDs)
}

// Changes returns the change log of a group for the last days, newest first.
func (s *Service) Changes(ctx context.Context, groupID string, days int) (reverie.ChangesReply, error) {
	ctx, _, err := reading(ctx, groupID, reverie.ScopeRead, within("days", days, 1, MaxDays))
	if err != nil {
		return reverie.ChangesReply{}, err
	}
	until := s.Now().UTC()
	since := until.Add(-time.Duration(days) * 24 * time.Hour)
	list, err := s.Store.Changes(ctx, groupID, since, until, MaxChanges)
	if err != nil {
		return reverie.ChangesReply{}, err
	}
	return reverie.ChangesReply{Success: true, GroupID: groupID, Changes: append([]reverie.Change{}, list...),
		Period: since.Format(time.DateOnly) + " to " + until.Format(time.DateOnly)}, nil
}

// Edit applies a person's change to a lineage's head: see [reverie.Edit]. For the id of an old version, the error
// is a *reverie.NotHeadError.
func (s *Service) Edit(ctx context.Context, e reverie.Edit) (reverie.MemoryReply, error) {
	var err error
	needs := reverie.ScopeWrite
	if e.Action == reverie.ActionScope { // it can reveal this group's facts to other groups
		needs = reverie.ScopeAdmin
	}
	if e.GroupID, err = allowed(ctx, e.GroupID, needs); err != nil {
		// A missing memory and another group's get the same error.
		if errors.Is(err, reverie.ErrForbidden) && e.MemoryID != "" {
			if _, lookErr := s.History(ctx, e.MemoryID, reverie.When{}); lookErr != nil {
				return reverie.MemoryReply{}, lookErr
			}
		}
		return reverie.MemoryReply{}, err
	}
	if err := reasonLength(e.Reason); err != nil {
		return reverie.MemoryReply{}, err
	}
	if e.MemoryID, err = s.Store.WholeID(ctx, reverie.IDMemory, e.GroupID, e.MemoryID); err != nil {
		return reverie.MemoryReply{}, err
	}
	if e.Action == reverie.ActionCreate || e.Action == reverie.ActionUpdate {
		caller, _ := CallerOf(ctx)
		e.Author = cmp.Or(caller.Name, caller.TokenID)
		if e, err = s.Privacy.Written(e); err != nil {
			return reverie.MemoryReply{}, err
		}
	}
	m, err := s.Store.Edit(ctx, e)
	return reverie.MemoryReply{Success: err == nil, Memory: m}, err
}

// reasonLength refuses a reason that is too long or cannot be stored.
func reasonLength(reason string) error {
	if !text.Storable(reason) {
		return fmt.Errorf("the reason is not text in UTF-8: %w", reverie.ErrInvalid)
	}
	if n := len([]rune(reason)); n > reverie.MaxReason {
		return fmt.Errorf("the reason has %d characters: %d is the most: %w", n, reverie.MaxReason, reverie.ErrInvalid)
	}
	return nil
}

// Stats returns statistics of a group's memories.
func (s *Service) Stats(ctx context.Context, groupID string) (reverie.MemoryStats, error) {
	ctx, _, err := reading(ctx, groupID, reverie.ScopeRead)
	if err != nil {
		return reverie.MemoryStats{}, err
	}
	return s.Store.MemoryStats(ctx, groupID)
}

// Explain makes the context that [Service.Context] would make, and returns the outcome of every memory considered.
// It logs no use.
func (s *Service) Explain(ctx context.Context, req recall.ContextRequest) (reverie.Recalled, error) {
	ctx, _, err := reading(ctx, req.GroupID, reverie.ScopeRead, queryLength(req.Query))
	if err != nil {
		return reverie.Recalled{}, err
	}
	r, err := s.Recaller(ctx, req.GroupID)
	if err != nil {
		return reverie.Recalled{}, err
	}
	return r.Explain(ctx, req)
}

// Context makes the context for a bot's next turn.
func (s *Service) Context(ctx context.Context, req recall.ContextRequest) (reverie.ContextReply, error) {
	ctx, _, err := reading(ctx, req.GroupID, reverie.ScopeRead, queryLength(req.Query))
	if err != nil {
		return reverie.ContextReply{}, err
	}
	r, err := s.Recaller(ctx, req.GroupID)
	if err != nil {
		return reverie.ContextReply{}, err
	}
	return r.Context(ctx, req)
}

// Report judges which of the offered memories an answer used.
func (s *Service) Report(ctx context.Context, req recall.FeedbackRequest) (reverie.FeedbackReply, error) {
	if _, err := allowed(ctx, req.GroupID, reverie.ScopeWrite); err != nil {
		return reverie.FeedbackReply{}, err
	}
	f, err := s.Feedback(ctx, req.GroupID)
	if err != nil {
		return reverie.FeedbackReply{}, err
	}
	return f.Report(ctx, req)
}

// Diff compares a group's memories at two instants. With passing, it includes memories that were created and ended
// in between.
func (s *Service) Diff(ctx context.Context, q reverie.BetweenQuery, passing bool) (reverie.DiffReply, error) {
	ctx, _, err := reading(ctx, q.GroupID, reverie.ScopeRead, q.Until(s.Now()))
	if err != nil {
		return reverie.DiffReply{}, err
	}
	between, err := s.past().Between(ctx, q)
	if err != nil {
		return reverie.DiffReply{}, err
	}
	reply := reverie.DiffReply{Success: true, MemoryDiff: diff.Memories(between)}
	if !passing {
		reply.Passing = nil
	}
	for _, list := range []*[]reverie.DiffEntry{&reply.Added, &reply.Changed, &reply.Gone, &reply.Passing} {
		if len(*list) > MaxChanges {
			*list, reply.Cut = (*list)[:MaxChanges], true
		}
	}
	return reply, nil
}

// When returns an instant in the chat's time or in the time of writing. Both at once are reverie.ErrInvalid,
// neither is now.
func When(at, recordedAt time.Time) (reverie.When, error) {
	if !at.IsZero() && !recordedAt.IsZero() {
		return reverie.When{}, fmt.Errorf("at and recorded_at: give one of them; at goes by when things were said, "+
			"recorded_at by when they were written: %w", reverie.ErrInvalid)
	}
	if recordedAt.IsZero() {
		return reverie.When{At: at}, nil
	}
	return reverie.When{At: recordedAt, Recorded: true}, nil
}

// Beginning returns when a date of a group's calendar begins; "" is the zero time.
func (s *Service) Beginning(g reverie.Group, date string) (time.Time, error) {
	if date == "" {
		return time.Time{}, nil
	}
	calendar, err := jobs.CalendarOrUTC(g)
	if err != nil {
		s.Log.Warn("dates are read in UTC", "group_id", g.ID, "error", err)
	}
	w, err := calendar.Window(date)
	return w.Since, err
}

// Blame says which version of a memory brought each word of the newest version, and where each version comes from.
// With an instant, it is about the newest version of that time.
func (s *Service) Blame(ctx context.Context, memoryID string, at reverie.When) (reverie.BlameReply, error) {
	ctx, groupID, memoryID, err := s.readingOf(ctx, reverie.IDMemory, "", memoryID)
	if err != nil {
		return reverie.BlameReply{}, err
	}
	why, err := s.past().WhyAt(ctx, groupID, memoryID, at)
	if err != nil {
		return reverie.BlameReply{}, fmt.Errorf("say who wrote memory %s: %w", memoryID, err)
	}
	reply := reverie.BlameReply{Success: true, GroupID: why.Memory.GroupID, Blame: diff.Blame(why)}
	kept := newest(reply.Versions)
	reply.Cut, reply.Versions = len(kept) < len(reply.Versions), kept
	return reply, nil
}
