package reverie

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // embeds the time zones: a scratch container has none
	"unicode/utf8"
)

// Group is a chat group, the tenant: its id is the first column of every key.
type Group struct {
	ID       string `db:"group_id" json:"group_id"`
	Name     string `db:"name" json:"name"`
	TimeZone string `db:"time_zone" json:"time_zone"` // IANA name, such as Asia/Shanghai
	Language string `db:"language" json:"language"`   // "zh", "en", or "": detected from the messages
	Paused   bool   `db:"paused" json:"paused"`
	// DayBoundary is the local time, HH:MM, at which a date of this group begins. "" and "00:00" are midnight; with
	// "04:00", the hours before 4 belong to the previous date.
	DayBoundary string `db:"day_boundary" json:"day_boundary"`
	// Impressions is whether the impression job follows people and things in this group: "on", "off", or "" for the
	// configured setting.
	Impressions string `db:"impressions" json:"impressions"`
	// SessionSilence is the silence, such as 45m, after which a message without a session id begins a new session; ""
	// for the configured setting.
	SessionSilence string `db:"session_silence" json:"session_silence"`
	// DreamIdle, DreamSessions and DreamInterval say when the group dreams, as in [DreamRule]. Each is a duration or a
	// number, "off" for the first two, or "" for the configured setting.
	DreamIdle     string `db:"dream_idle" json:"dream_idle"`
	DreamSessions string `db:"dream_sessions" json:"dream_sessions"`
	DreamInterval string `db:"dream_interval" json:"dream_interval"`
	// Team is the team whose memories the group recalls beside its own: a name, "off", or "" for the configured
	// setting.
	Team string `db:"team" json:"team"`
	// Private is whether the group is a private chat, which no other group reads: "on" or "off". With "", it is private
	// while at most two people's accounts are known in it.
	Private string `db:"private" json:"private"`
	// Past are the group's earlier zones and boundaries, oldest first. Only the planning of nights reads them.
	Past []PastCalendar `db:"-" json:"-"`
}

// PastCalendar is how a group's dates were divided until ValidUntil, which is the end of one of those dates.
type PastCalendar struct {
	TimeZone    string    `db:"time_zone" json:"time_zone"`
	DayBoundary string    `db:"day_boundary" json:"day_boundary"`
	ValidUntil  time.Time `db:"valid_until" json:"valid_until"` // exclusive
}

// MaxGroupIDLength bounds a group id, in bytes.
const MaxGroupIDLength = 200

// Location returns the group's time zone, or an error that names the group and
// the zone that is unknown. An empty zone is UTC.
func (g Group) Location() (*time.Location, error) {
	if g.TimeZone == "" {
		return time.UTC, nil
	}
	loc, err := time.LoadLocation(g.TimeZone)
	if err != nil || g.TimeZone == "Local" { // "Local" would depend on the machine
		return nil, fmt.Errorf("group %q: time zone %q: %w: use an IANA name such as Asia/Shanghai", g.ID, g.TimeZone, ErrInvalid)
	}
	return loc, nil
}

// Boundary returns the offset in the local day at which the group's dates begin. An empty DayBoundary is midnight.
// The error names the group and a valid value.
func (g Group) Boundary() (time.Duration, error) {
	if g.DayBoundary == "" {
		return 0, nil
	}
	at, err := time.Parse("15:04", g.DayBoundary)
	if err != nil || len(g.DayBoundary) != len("15:04") {
		return 0, fmt.Errorf("group %q: day boundary %q: %w: write HH:MM, from 00:00 to 23:59, such as 04:00", g.ID, g.DayBoundary, ErrInvalid)
	}
	return time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute, nil
}

// HasCalendar reports whether the group's zone and boundary are valid. Writers check both. A zone may still vanish
// from the time zone data, or be written to the database by others.
func (g Group) HasCalendar() bool {
	_, err := g.Location()
	_, err2 := g.Boundary()
	return err == nil && err2 == nil
}

// CheckGroupID refuses an invalid group id: not UTF-8 text, too long, or one of the three that a URL path cannot
// hold, however they are escaped.
func CheckGroupID(id string) error {
	if id == "" || len(id) > MaxGroupIDLength || strings.ContainsRune(id, 0) || !utf8.ValidString(id) {
		return fmt.Errorf("group id %q: must have 1 to %d bytes of text: %w", id, MaxGroupIDLength, ErrInvalid)
	}
	if id == "." || id == ".." || id == "/" {
		return fmt.Errorf("group id %q: this one could not stand in a URL; choose another: %w", id, ErrInvalid)
	}
	return nil
}

// Normalize fills an empty day boundary and checks the group's settings. Its errors are ErrInvalid and name a valid
// value.
func (g *Group) Normalize() error {
	if err := CheckGroupID(g.ID); err != nil {
		return err
	}
	if team, ok := TeamOf(g.ID); ok {
		if err := CheckTeam(team); err != nil {
			return err
		}
	}
	if _, err := g.Location(); err != nil {
		return err
	}
	if g.DayBoundary == "" {
		g.DayBoundary = "00:00"
	}
	if _, err := g.Boundary(); err != nil {
		return err
	}
	if g.Language != "" && g.Language != "zh" && g.Language != "en" {
		return fmt.Errorf("group %q: language %q: %w: write zh or en, or leave it empty to go by the messages", g.ID, g.Language, ErrInvalid)
	}
	if g.Impressions != "" && g.Impressions != "on" && g.Impressions != "off" {
		return fmt.Errorf("group %q: impressions %q: %w: write on or off, or leave it empty to go by the configuration", g.ID, g.Impressions, ErrInvalid)
	}
	if g.Private != "" && g.Private != "on" && g.Private != "off" {
		return fmt.Errorf("group %q: private %q: %w: write on or off, or leave it empty to go by who is known in it", g.ID, g.Private, ErrInvalid)
	}
	if g.Team != "" && g.Team != GroupOff {
		if err := CheckTeam(g.Team); err != nil {
			return fmt.Errorf("group %q: %w", g.ID, err)
		}
	}
	_, err := g.DreamRule(DreamRule{Silence: DefaultSessionSilence})
	return err
}

// DefaultSessionSilence is the silence after which a session ends if nothing is configured.
const DefaultSessionSilence = 30 * time.Minute

// Silence returns the silence after which a session of the group ends: its own, or otherwise. The error names the
// group and a valid value.
func (g Group) Silence(otherwise time.Duration) (time.Duration, error) {
	if g.SessionSilence == "" {
		return otherwise, nil
	}
	return g.duration("session silence", g.SessionSilence, 30*24*time.Hour, "720h, such as 30m")
}

// duration parses a duration of at least a minute and at most most; hint shows valid values.
func (g Group) duration(what, text string, most time.Duration, hint string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Minute || d > most {
		return 0, fmt.Errorf("group %q: %s %q: %w: write a duration from 1m to %s", g.ID, what, text, ErrInvalid, hint)
	}
	return d, nil
}

// SameCalendar reports whether both groups currently divide time into dates alike; past calendars do not count.
func (g Group) SameCalendar(other Group) bool {
	zone := func(g Group) string { return cmp.Or(g.TimeZone, "UTC") }
	mine, err := g.Boundary()
	theirs, otherErr := other.Boundary()
	return zone(g) == zone(other) && mine == theirs && err == nil && otherErr == nil
}

// GroupEntry is a group in a list.
type GroupEntry struct {
	Group
	Pending       int        `json:"pending"` // messages
	OldestPending *time.Time `json:"oldest_pending,omitempty"`
	Active        int        `json:"active"` // memories
	LastRun       *Run       `json:"last_run,omitempty"`
	Setbacks      []Setback  `json:"setbacks,omitempty"`
}

// Parked reports whether a job of the group is suspended until a person resumes it.
func (g GroupEntry) Parked() bool {
	return slices.ContainsFunc(g.Setbacks, func(s Setback) bool { return s.ParkedAt != nil })
}

// Setback returns the failure state of a job, nil if it has none.
func (g GroupEntry) Setback(job Job) *Setback {
	if i := slices.IndexFunc(g.Setbacks, func(s Setback) bool { return s.Job == job }); i >= 0 {
		return &g.Setbacks[i]
	}
	return nil
}

// State returns the state of the group; parked has priority over paused.
func (g GroupEntry) State() GroupState {
	switch {
	case g.Parked():
		return GroupParked
	case g.Paused:
		return GroupPaused
	}
	return GroupActive
}

// GroupState is the state of a group in filters.
type GroupState string

// The states of a group. A parked group may be paused too.
const (
	GroupActive GroupState = "active" // neither paused nor parked
	GroupPaused GroupState = "paused" // by a person
	GroupParked GroupState = "parked" // by repeated failure
)

// GroupQuery selects groups, by id.
type GroupQuery struct {
	GroupID string     // "" = all
	State   GroupState // "" = all
	Name    string     // only groups whose id or name contains it, case-insensitively
	After   string     // only ids after this one
	Limit   int        // 0 = no limit
}

// GroupChange is a person's change of group settings, named as in [Group]; nil leaves a setting unchanged.
type GroupChange struct {
	Name        *string
	TimeZone    *string
	DayBoundary *string
	Language    *string
	Paused      *bool
	Impressions *string

	SessionSilence *string

	DreamIdle, DreamSessions, DreamInterval *string

	Team, Private *string
}

// Apply sets the changed fields without checking them.
func (c GroupChange) Apply(g *Group) {
	to := reflect.ValueOf(g).Elem()
	for field, set := range reflect.ValueOf(c).Fields() {
		if !set.IsNil() {
			to.FieldByName(field.Name).Set(set.Elem())
		}
	}
}
