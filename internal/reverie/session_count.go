package reverie

import "time"

// Add counts a message as the newest one of the session, not extracted yet and
// covered by no summary; tokens are [EstimateTokens] of its text. A user opens a
// turn, and the next word of an assistant ends it: the turn is counted with that
// message. Tools belong to the turn that they are called in.
func (s *Session) Add(m Message, tokens int) {
	one := Tally{Messages: 1, Tokens: tokens}
	switch m.Role {
	case RoleUser:
		s.Asking = true
	case RoleTool:
		one.ToolCalls = 1
	case RoleAssistant:
		if s.Asking {
			one.Turns = 1
		}
		s.Asking = false
	}
	s.Total, s.New = s.Total.Plus(one), s.New.Plus(one)
	if s.FirstAt.IsZero() || m.SentAt.Before(s.FirstAt) {
		s.FirstAt = m.SentAt
	}
	if m.SentAt.After(s.LastAt) {
		s.LastAt = m.SentAt
	}
}

// Unfolded counts what no rolling summary covers: what stands word for word.
func (s Session) Unfolded() Tally { return s.Total.Minus(s.Folded) }

// Plus adds two tallies.
func (t Tally) Plus(o Tally) Tally {
	return Tally{Messages: t.Messages + o.Messages, Tokens: t.Tokens + o.Tokens, ToolCalls: t.ToolCalls + o.ToolCalls, Turns: t.Turns + o.Turns}
}

// Minus takes a tally from another.
func (t Tally) Minus(o Tally) Tally {
	return Tally{Messages: t.Messages - o.Messages, Tokens: t.Tokens - o.Tokens, ToolCalls: t.ToolCalls - o.ToolCalls, Turns: t.Turns - o.Turns}
}

// Extract tells whether a session is due for extraction: enough is new in it, or
// anything is and it has been silent for long enough, or the last extraction has
// left it. After a failure it is left alone for a while.
func (r SessionRule) Extract(s Session, now time.Time) bool {
	return s.New.Messages > 0 && r.Tries(s, now) && (s.Unfinished || reached(s.New.Tokens, r.Tokens) || reached(s.New.ToolCalls, r.ToolCalls) || reached(s.New.Turns, r.Turns) ||
		r.Idle > 0 && now.Sub(s.LastAt) >= r.Idle)
}

// Tries tells whether a session is not left alone after a failure to extract it.
func (r SessionRule) Tries(s Session, now time.Time) bool {
	return s.ParkedAt == nil && r.again(s.RetryAt, now)
}

func (r SessionRule) again(retry *time.Time, now time.Time) bool {
	return r.IgnoreRetry || retry == nil || !LeftAlone(*retry, now)
}

// Fold tells whether older turns of a session are to be folded into its rolling
// summary: more stand word for word than may, there is something to fold beyond
// the turns that are kept, and its short-term memory is not over. A fold that failed
// waits a while.
func (r SessionRule) Fold(s Session, now time.Time) bool {
	open := s.Unfolded()
	return r.again(s.FoldRetryAt, now) && open.Turns > r.KeepTurns && (exceeded(open.Turns, r.FoldTurns) || exceeded(open.Tokens, r.FoldTokens)) &&
		(r.ShortTermTTL <= 0 || now.Sub(s.LastAt) <= r.ShortTermTTL)
}

func reached(n, limit int) bool  { return limit > 0 && n >= limit }
func exceeded(n, limit int) bool { return limit > 0 && n > limit }
