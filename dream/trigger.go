package dream

import (
	"fmt"
	"time"

	"reverie/internal/reverie"
)

// Ended returns the latest time of a last message by which a session counts as ended. The session has then been silent
// for the rule's silence, or for the idle time that makes the group dream, whichever is shorter.
func Ended(rule reverie.DreamRule, now time.Time) time.Time {
	silence := rule.Silence
	if rule.Idle > 0 {
		silence = min(silence, rule.Idle)
	}
	return now.Add(-silence)
}

// interrupted is the reason to dream when a dream has begun and has no end. A caller without the lease cannot tell a
// dream whose process died from one in progress.
const interrupted = "the last dream was interrupted, or is under way"

// Due reports whether a group should dream now, and the reason for either answer. It is pure: the result depends only
// on the signs and the rule. A dream may seem to have ended in the future, because the clock was set back. If it is
// further ahead than the interval, it does not delay the next one.
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

// nothingNew says why there is no material, and what the user can do.
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

// sessions formats a number of sessions for the middle of a sentence.
func sessions(n int) string {
	if n == 1 {
		return "1 session has"
	}
	return fmt.Sprintf("%d sessions have", n)
}
