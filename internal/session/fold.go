package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reverie/internal/llm"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
	"reverie/prompts"
)

// fold adds the older turns of the session to its rolling summary, if that is due. The newest turns stay out, and so
// does a turn without an answer yet. It asks as many questions as needed and applies each by itself, so that an
// interruption loses nothing. A fold that has begun continues, also in a resumed run. If the model gives no usable
// summary, the run does not fail, because its facts are stored. The fold is retried later.
func (r *run) fold(ctx context.Context) error {
	for {
		more, err := pipeline.Step(ctx, &r.recorder, "fold", r.foldOnce)
		if err != nil && isUnusable(err) {
			return r.foldFailed(ctx, err)
		}
		if err != nil || !more {
			return err
		}
	}
}

// isUnusable reports whether the model answered, but not usably.
func isUnusable(err error) bool {
	return !reverie.Passing(err) && !errors.Is(err, reverie.ErrConfiguration) &&
		(errors.Is(err, reverie.ErrUnusable) || errors.As(err, new(*llm.Error)))
}

// foldFailed keeps the rolling summary until the next attempt.
func (r *run) foldFailed(ctx context.Context, why error) error {
	retry, err := r.Store.NoteFold(ctx, r.req.GroupID, r.req.SessionID, r.Retry)
	if err != nil {
		return err
	}
	r.recorder.Warn(fmt.Sprintf("older turns of session %q stay as they are: %v; tried again from %s on",
		r.req.SessionID, why, retry.Format(time.RFC3339)))
	return nil
}

// foldOnce folds the turns of one question, and reports whether there are more.
func (r *run) foldOnce(ctx context.Context) (more bool, err error) {
	state, err := r.Store.GatherFold(ctx, r.req.GroupID, r.req.SessionID)
	if err != nil {
		return false, fmt.Errorf("gather the turns of session %q of group %q: %w", r.req.SessionID, r.req.GroupID, err)
	}
	state.Messages = r.Privacy.Messages(state.Messages)
	if !r.req.Due { // a person or a client asked for it
		state.Session.FoldRetryAt = nil
	}
	if r.recorder.Stats.Folded == 0 && !r.Rule.Fold(state.Session, r.now) {
		return false, nil
	}
	turns := openingOf(state)
	older := state.Messages[:turns.older(r.Rule.KeepTurns)]
	if len(older) == 0 {
		return false, nil
	}
	s, err := localeOf(state.Group, older)
	if err != nil {
		return false, err
	}
	if err := r.open(ctx, state.Session, older[0].SentAt, r.Summarizer, prompts.SessionSummarize,
		s.language); err != nil {
		return false, err
	}
	text, n, err := r.askRolling(ctx, s, state, older, turns)
	if err != nil {
		return false, err
	}
	return n < len(older), r.applyFold(ctx, state, text, older[:n], turns.turns(n))
}

// openingOf outlines the messages that no summary covers. Where the session counts one turn more, the first message
// answers a covered one.
func openingOf(state reverie.FoldState) outline {
	o := outlineOf(state.Messages, false)
	if state.Session.Unfolded().Turns > len(o.ends) {
		return outlineOf(state.Messages, true)
	}
	return o
}

// askRolling asks for a summary of as many older turns as fit one question, and of fewer where the answer is cut off.
// It returns how many messages the summary covers.
func (r *run) askRolling(ctx context.Context, s locale, state reverie.FoldState, older []reverie.Message,
	turns outline) (body string, n int, err error) {
	var before string
	if state.Summary != nil {
		before = state.Summary.Summary
	}
	empty, err := r.Prompts.Render(s.language, prompts.SummarizeSystem{MaxSummary: reverie.MaxRollingSummary},
		prompts.SummarizeUser{Rolling: before})
	if err != nil {
		return "", 0, err
	}
	room := r.Limits.MaxInputTokens - text.EstimateTokens(empty.System) - text.EstimateTokens(empty.User)
	n = fitting(r.Prompts, older, room, s.loc)
	for {
		if n < len(older) {
			n = turns.cutBefore(n)
		}
		shown := pipeline.Shown(older[:n])
		if len(shown) == 0 {
			return wordlessSummary(before, s.language), n, nil
		}
		body, err = r.askSummary(ctx, s, reverie.MaxRollingSummary, before, shown)
		if !errors.Is(err, pipeline.ErrCut) {
			return safety.CleanSummary(body, reverie.MaxRollingSummary), n, err
		}
		if len(shown) == 1 {
			return "", 0, pipeline.CutAlone(fmt.Sprintf("summary of session %q of group %q", r.req.SessionID, r.req.GroupID),
				"one message")
		}
		for i, m := range older[:n] {
			if m.ID == shown[len(shown)/2].ID {
				n = i
			}
		}
	}
}

// wordlessSummary is the summary of turns without any words.
func wordlessSummary(before, language string) string {
	switch {
	case before != "":
		return before
	case language == prompts.Chinese:
		return "到目前为止的消息都没有文字。"
	}
	return "The messages so far hold no text."
}

// applyFold writes a rolling summary, and which messages it covers now.
func (r *run) applyFold(ctx context.Context, state reverie.FoldState, s string, covered []reverie.Message,
	turns int) error {
	tokens := 0
	for _, m := range covered {
		tokens += text.EstimateTokens(m.Text)
	}
	first, last, now := covered[0], covered[len(covered)-1], r.Now().UTC()
	sum := reverie.SessionSummary{GroupID: r.req.GroupID, SessionID: r.req.SessionID, FirstMessageID: first.ID,
		CoversSince:   first.SentAt,
		LastMessageID: last.ID, CoversUntil: last.SentAt, CreatedAt: now}
	if old := state.Summary; old != nil {
		sum.Messages, sum.Turns, sum.Tokens, sum.CreatedAt = old.Messages, old.Turns, old.Tokens, old.CreatedAt
		if !first.SentAt.Before(old.CoversSince) {
			sum.FirstMessageID, sum.CoversSince = old.FirstMessageID, old.CoversSince
		}
		if last.SentAt.Before(old.CoversUntil) {
			sum.LastMessageID, sum.CoversUntil = old.LastMessageID, old.CoversUntil
		}
	}
	sum.Summary, sum.RunID, sum.UpdatedAt = s, r.recorder.Row.ID, now
	sum.Messages, sum.Turns, sum.Tokens = sum.Messages+len(covered), sum.Turns+turns, sum.Tokens+tokens
	stats := r.recorder.Stats
	stats.Folded += len(covered)
	err := r.recorder.Write(func(lease reverie.Lease) error {
		return r.Store.ApplyFold(ctx, lease, reverie.SessionFold{Summary: sum, MessageIDs: pipeline.IDs(covered), Turns: turns,
			Stats: stats})
	})
	if err != nil {
		return fmt.Errorf("store the summary of session %q of group %q: %w", r.req.SessionID, r.req.GroupID, err)
	}
	r.recorder.Stats, r.result.Folded = stats, &sum
	return nil
}
