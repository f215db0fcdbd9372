package jobs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"reverie/internal/reverie"
)

// Spec says when something is started, in UTC. The zero Spec is never.
type Spec struct {
	text     string
	schedule cron.Schedule
}

// Bounds of what is read. A start more often than once a minute is a mistake:
// each looks at all groups.
const (
	maxSpecLength = 200
	minEvery      = time.Minute
)

// field is one of the five of a spec.
type field struct {
	name  string
	parts uint64 // how many values there are, the most that a step can jump
	hint  string
}

var fields = []field{
	{"minute", 60, "0 to 59"}, {"hour", 24, "0 to 23"}, {"day of the month", 31, "1 to 31"},
	{"month", 12, "1 to 12, or jan to dec"}, {"day of the week", 7, "0 to 6, or sun to sat"},
}

var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// ParseSpec reads five fields (minute, hour, day of the month, month, day of the
// week), @hourly, @daily, @weekly, @monthly, @yearly, or @every with a duration of
// whole seconds, a minute at least. A spec that is read does happen, and its times
// are in UTC. Errors are [reverie.ErrInvalid] and say what to write.
func ParseSpec(text string) (Spec, error) {
	refuse := func(format string, args ...any) (Spec, error) {
		shown := text
		if len(shown) > 40 {
			shown = strings.ToValidUTF8(shown[:40], "") + "..."
		}
		return Spec{}, fmt.Errorf("schedule %q: %w: "+format, append([]any{shown, reverie.ErrInvalid}, args...)...)
	}
	if len(text) > maxSpecLength {
		return refuse("longer than %d bytes: write five fields, such as 17 * * * *", maxSpecLength)
	}
	parts := strings.Fields(text)
	if len(parts) == 0 {
		return refuse("empty: write five fields, such as 17 * * * *, or @hourly")
	}
	if zone := strings.ToUpper(parts[0]); strings.HasPrefix(zone, "TZ=") || strings.HasPrefix(zone, "CRON_TZ=") {
		return refuse("times are in UTC and a time zone cannot be given: take the zone's offset off, " +
			"so that 03:17 in Asia/Shanghai (UTC+8) is 17 19 * * *")
	}
	var schedule cron.Schedule
	var err error
	switch {
	case parts[0] == "@every":
		schedule, err = parseEvery(parts[1:])
	case strings.HasPrefix(parts[0], "@"):
		if schedule, err = parse(strings.Join(parts, " ")); err != nil {
			err = errors.New("unknown word: write @hourly, @daily, @weekly, @monthly, @yearly, @every 90m or five fields")
		}
	default:
		schedule, err = parseFields(parts)
	}
	if err != nil {
		return refuse("%w", err)
	}
	s := Spec{text: strings.Join(parts, " "), schedule: schedule}
	if s.Next(time.Unix(0, 0)).IsZero() {
		return refuse("never happens: no month of it has that day")
	}
	return s, nil
}

// parseEvery reads the duration of @every itself: the library makes a second of
// what is negative or shorter, and drops what is beyond whole seconds.
func parseEvery(parts []string) (cron.Schedule, error) {
	if len(parts) != 1 {
		return nil, errors.New("write one duration, such as @every 90m")
	}
	d, err := time.ParseDuration(parts[0])
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is no duration: write one such as 90m or 6h", parts[0])
	case d < minEvery:
		return nil, fmt.Errorf("every %s is too often: a minute is the least, @every 1m", d)
	case d%time.Second != 0:
		return nil, fmt.Errorf("%s has parts of a second: write whole ones", d)
	}
	return cron.Every(d), nil
}

// parseFields reads each field by itself first, so that an error can name it.
func parseFields(parts []string) (cron.Schedule, error) {
	if n := len(parts); n == len(fields)+1 {
		return nil, errors.New("six fields: there are no seconds; leave out the first")
	} else if n != len(fields) {
		return nil, fmt.Errorf("%d of five fields: write minute, hour, day of the month, month and day of the week, such as 17 * * * *", n)
	}
	for i, f := range fields {
		alone := []string{"*", "*", "*", "*", "*"}
		alone[i] = parts[i]
		if _, err := parse(strings.Join(alone, " ")); err != nil {
			return nil, fmt.Errorf("%s %q cannot be read: write %s, lists, ranges and steps of them, or *", f.name, parts[i], f.hint)
		}
		for item := range strings.SplitSeq(parts[i], ",") {
			if item == "" { // the library reads a list of nothing as never
				return nil, fmt.Errorf("%s %q has an empty place: take out the comma", f.name, parts[i])
			}
			_, step, _ := strings.Cut(item, "/")
			if n, err := strconv.ParseUint(step, 10, 64); err == nil && n >= f.parts {
				return nil, fmt.Errorf("%s %q: a step of %d leaves its range; write @every for longer ones, such as @every 90m", f.name, parts[i], n)
			}
		}
	}
	return parse(strings.Join(parts, " "))
}

// parse is the library's parser, which panics on some input.
func parse(text string) (s cron.Schedule, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("cannot be read: %v", p)
		}
	}()
	return parser.Parse(text)
}

// String is the spec as it was written, "" for the zero one.
func (s Spec) String() string { return s.text }

// Next is the first time after t, in UTC; zero only for the zero Spec.
func (s Spec) Next(t time.Time) time.Time {
	if s.schedule == nil {
		return time.Time{}
	}
	t = t.UTC()
	// The library looks five years ahead; a leap day can be eight years away.
	for range 3 {
		if next := s.schedule.Next(t); !next.IsZero() {
			return next
		}
		t = time.Date(t.Year()+5, time.December, 31, 23, 59, 59, 0, time.UTC)
	}
	return time.Time{}
}

// Fires are the next n times after from, in UTC; none for the zero Spec.
func (s Spec) Fires(from time.Time, n int) []time.Time {
	var list []time.Time
	for next := s.Next(from); len(list) < n && !next.IsZero(); next = s.Next(next) {
		list = append(list, next)
	}
	return list
}
