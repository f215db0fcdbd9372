package config

import (
	"fmt"
	"math"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"reverie/internal/llm"
	"reverie/internal/reverie"
)

// check finds everything that is wrong with the values of cfg, one by one and
// together.
func check(cfg *Config) []error {
	c := checker{cfg: cfg}
	for _, s := range configSchema().settings {
		if why := s.allowed(s.field(cfg)); why != "" {
			c.report(s.path, "%s", why)
		}
	}
	c.addresses()
	c.times()
	c.prices()
	c.together()
	return c.problems
}

type checker struct {
	cfg      *Config
	problems []error
}

// report adds a problem of one setting.
func (c *checker) report(path, format string, args ...any) {
	s := configSchema().byPath[path]
	c.problems = append(c.problems, &problemError{
		path: path, value: s.text(c.cfg), origin: c.cfg.origins.Origin(path), reason: fmt.Sprintf(format, args...),
	})
}

// allowed says why a value is none of those that the tags allow, or nothing.
func (s *setting) allowed(v reflect.Value) string {
	if v.Kind() == reflect.String {
		return s.allowedText(v.String())
	}
	if s.min == "" && s.max == "" || v.IsZero() && s.def == "" {
		return ""
	}
	n := number(v)
	low, high := s.bound(s.min, -1), s.bound(s.max, +1)
	if n >= low && n <= high { // false for NaN
		return ""
	}
	switch {
	case s.max == "":
		return "must be " + s.min + " or more"
	case s.def == "" && s.typ.Kind() != reflect.Pointer:
		return "must be from " + s.min + " to " + s.max + ", or empty"
	default:
		return "must be from " + s.min + " to " + s.max
	}
}

func (s *setting) allowedText(text string) string {
	if text == "" {
		if s.noEmpty {
			return "must not be empty" + s.choices(", but ")
		}
		return ""
	}
	if len(s.options) > 0 && !slices.Contains(s.options, text) {
		return "must be" + s.choices(" ") + suggest(text, s.options)
	}
	return ""
}

func (s *setting) choices(before string) string {
	if len(s.options) == 0 {
		return ""
	}
	list := strings.Join(s.options, ", ")
	if !s.noEmpty {
		list += ", or empty"
	}
	return before + "one of " + list
}

// number is the size of a value in the unit of its bounds.
func number(v reflect.Value) float64 {
	switch x := v.Interface().(type) {
	case int:
		return float64(x)
	case float64:
		return x
	case *float64:
		return *x
	case Duration:
		return float64(x.Duration)
	}
	return math.NaN()
}

// bound reads a min or max tag; where there is none, it is infinity with the
// given sign.
func (s *setting) bound(tag string, sign int) float64 {
	if tag == "" {
		return math.Inf(sign)
	}
	v, err := s.tag(tag)
	if err != nil {
		return math.NaN() // nothing passes: a test reads every bound
	}
	return number(v)
}

// addresses checks what must be a URL. No error repeats what [url.Parse] says,
// since that holds the URL with its password.
func (c *checker) addresses() {
	for _, s := range configSchema().settings {
		if s.key != "base_url" && s.path != "traces.endpoint" && s.path != "team.remote" {
			continue
		}
		if text := s.field(c.cfg).String(); text != "" && !isWebURL(text) {
			c.report(s.path, "must be an address such as https://api.example.com/v1, without user and password")
		}
	}
	for _, path := range []string{"database.url", "database.migrate_url"} {
		s := configSchema().byPath[path]
		if text := s.field(c.cfg).String(); text != "" && !isDatabaseURL(text) {
			c.report(path, "must be a connection URL such as postgres://user:password@host:5432/name?sslmode=require; write special characters of the password in percent form, @ as %%40")
		}
	}
}

// times checks what says when: time zones, the hours that divide days, and cron
// specs.
func (c *checker) times() {
	g := reverie.Group{TimeZone: c.cfg.Group.TimeZone, DayBoundary: c.cfg.Group.DayBoundary}
	if _, err := g.Location(); err != nil {
		c.report("group.time_zone", "must be an IANA time zone such as UTC, Asia/Shanghai or Europe/Berlin")
	}
	if _, err := g.Boundary(); err != nil {
		c.report("group.day_boundary", "must be HH:MM, from 00:00 to 23:59, such as 04:00")
	}
	for _, set := range scheduleSettings() {
		spec := set.field(c.cfg).String()
		if _, err := specOf(spec); err != nil {
			again := fmt.Sprintf("schedule %q: %v: ", spec, reverie.ErrInvalid) // the report has named it already
			c.report(set.path, "%s", strings.TrimPrefix(err.Error(), again))
		}
	}
}

func isWebURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil
}

// isDatabaseURL accepts a URL and the key=value form of libpq.
func isDatabaseURL(text string) bool {
	if !strings.Contains(text, "://") {
		return strings.Contains(text, "=")
	}
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql")
}

// prices checks each item of [llm] prices.
func (c *checker) prices() {
	for _, item := range c.cfg.LLM.Prices {
		if _, err := llm.ParsePrices([]string{item}); err != nil {
			c.report("llm.prices", "%v", err)
		}
	}
}

// together checks settings that depend on each other.
func (c *checker) together() {
	cfg := c.cfg
	if db := cfg.Database; db.ReadTimeout.Duration <= db.StatementTimeout.Duration {
		c.report("database.read_timeout", "must be longer than database.statement_timeout (%s, %s)",
			db.StatementTimeout, cfg.origins.Origin("database.statement_timeout"))
	}
	if db := cfg.Database; db.ReadTimeout.Duration <= db.IdleTimeout.Duration+db.LockTimeout.Duration { // what became of a commit is read under its lock
		c.report("database.read_timeout", "must be longer than database.idle_timeout (%s, %s) and database.lock_timeout (%s, %s) together",
			db.IdleTimeout, cfg.origins.Origin("database.idle_timeout"), db.LockTimeout, cfg.origins.Origin("database.lock_timeout"))
	}
	if e := cfg.Embed; (e.Floor != 0 || e.Ceiling != 0) && !(e.Floor < e.Ceiling) {
		c.report("embed.floor", "must be less than embed.ceiling (%g, %s), or both 0 for what is known of the model",
			e.Ceiling, cfg.origins.Origin("embed.ceiling"))
	}
	if e := cfg.Evolve; e.Target > e.MaxActive {
		c.report("evolve.target", "must be at most evolve.max_active (%d, %s)",
			e.MaxActive, cfg.origins.Origin("evolve.max_active"))
	}
	if name := cfg.Team.Name; name != "" && reverie.CheckTeam(name) != nil {
		c.report("team.name", "must have 1 to 64 letters, digits, dots, dashes and underscores, and not be off; empty = none")
	}
	if s := cfg.ShortTerm; s.CompressionThreshold > 0 && s.MaxItems > s.CompressionThreshold {
		c.report("short_term.max_items", "must be at most short_term.compression_threshold (%d, %s), beyond which all but so many turns are folded",
			s.CompressionThreshold, cfg.origins.Origin("short_term.compression_threshold"))
	}
	if f := cfg.Feedback; f.MinWeight > f.MaxWeight {
		c.report("feedback.min_weight", "must be at most feedback.max_weight (%g, %s)",
			f.MaxWeight, cfg.origins.Origin("feedback.max_weight"))
	}
	c.recall()
}

// recallKinds are the kinds of memory that there are.
var recallKinds = []string{string(reverie.KindGroup), string(reverie.KindSession), string(reverie.KindDream), string(reverie.KindTeam)}

// recall checks what is looked up, and when.
func (c *checker) recall() {
	r := c.cfg.Recall
	if len(r.Kinds) == 0 {
		c.report("recall.kinds", "must not be empty: name some of %s; recall.long_term_trigger = \"never\" looks up none", strings.Join(recallKinds, ", "))
	}
	for _, kind := range r.Kinds {
		if !slices.Contains(recallKinds, kind) {
			c.report("recall.kinds", "%q is none of %s%s", kind, strings.Join(recallKinds, ", "), suggest(kind, recallKinds))
		}
	}
	if slices.ContainsFunc(r.TriggerKeywords, func(k string) bool { return strings.TrimSpace(k) == "" }) {
		c.report("recall.trigger_keywords", "has an empty keyword, which every query would have: take it out")
	}
	if r.LongTermTrigger == "keywords" && len(r.TriggerKeywords) == 0 {
		c.report("recall.trigger_keywords", "must not be empty where recall.long_term_trigger is keywords (%s)", c.cfg.origins.Origin("recall.long_term_trigger"))
	}
}
