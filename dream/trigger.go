package dream

import (
	"fmt"
	"time"

	"reverie/internal/reverie"
)

// Ended is by when a session must have had its last message to have ended: it has
// been silent for as long as ends one, or for as long as makes the group dream.
func Ended(rule reverie.DreamRule, now time.Time) time.Time {
	silence := rule.Silence
	if rule.Idle > 0 {
		silence = min(silence, rule.Idle)
	}
	return now.Add(-silence)
}

// interrupted is why a dream is taken up that was begun and has no end. Whoever only looks
// cannot tell one whose process died from one that is under way.
const interrupted = "the last dream was interrupted, or is under way"

// Due tells whether a group is to dream now, and why, or why not. It is pure: all
// that counts is in the signs and the rule. A dream that ended further ahead than the
// time between two is of before the clock was set back, and keeps none from coming.
func Due(s reverie.DreamSigns, rule reverie.DreamRule, now time.Time) (due bool, why string) {
	if s.Interrupted {
		return true, interrupted
	}
	idle := rule.Idle > 0 && s.QuietSince != nil && now.Sub(*s.QuietSince) >= rule.Idle
	many := rule.Sessions > 0 && s.Fresh >= rule.Sessions
	switch {
	case s.CutShort && s.New > 0:
		return true, "the last dream failed before it had taken in all"
	case !idle && !many:
		return false, "no new session has been quiet for long enough, and too few have ended"
	case s.New == 0:
		return false, nothingNew(s)
	case s.LastAt != nil && now.Sub(*s.LastAt).Abs() < rule.Interval:
		return false, fmt.Sprintf("the last dream was less than %s ago", rule.Interval)
	case many:
		return true, fmt.Sprintf("%s ended since the last dream", sessions(s.Fresh))
	}
	return true, fmt.Sprintf("a session has been quiet since %s", s.QuietSince.UTC().Format(time.RFC3339))
}

// nothingNew says why there is nothing to dream of, and what may be done about it.
func nothingNew(s reverie.DreamSigns) string {
	why := "nothing is remembered that is new since the last dream"
	if s.LastAt == nil {
		why = "nothing is remembered yet to dream of"
	}
	if s.Unread > 0 {
		why += fmt.Sprintf("; %s turns that reverie extract has not read", sessions(s.Unread))
	}
	return why
}

// sessions counts them, for a sentence that goes on.
func sessions(n int) string {
	if n == 1 {
		return "1 session has"
	}
	return fmt.Sprintf("%d sessions have", n)
}
