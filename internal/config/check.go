package config

import (
	"errors"
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
		if why := s.refuse(s.field(cfg)); why != "" {
			c.report(s.path, why)
		}
	}
	c.together()
	return c.problems
}

type checker struct {
	cfg      *Config
	problems []error
}

// report adds a problem of one setting.
func (c *checker) report(path, why string) {
	s := configSchema().byPath[path]
	c.problems = append(c.problems, s.problem(s.text(c.cfg), c.cfg.origins.Origin(path), errors.New(why)))
}

// refuse says why a value is none of those that the tags allow, or nothing.
func (s *setting) refuse(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case []string:
		if len(x) == 0 && s.tag.Get("empty") == "no" {
			return "must not be empty"
		}
		for _, item := range x {
			if why := s.refuseText(item); why != "" {
				return why
			}
		}
		return ""
	case string, Secret:
		return s.refuseText(v.String())
	}
	return s.refuseNumber(v)
}

func (s *setting) refuseText(text string) string {
	var options []string
	if o := s.tag.Get("options"); o != "" {
		options = strings.Split(o, "|")
	}
	list := strings.Join(options, ", ")
	mustSay := s.tag.Get("empty") == "no"
	switch {
	case text == "" && mustSay && list != "":
		return "must not be empty, but one of " + list
	case text == "" && mustSay:
		return "must not be empty"
	case text == "" && s.typ.Kind() == reflect.String:
		return ""
	case len(options) > 0 && !slices.Contains(options, text) && mustSay:
		return "must be one of " + list
	case len(options) > 0 && !slices.Contains(options, text):
		return "must be one of " + list + ", or empty"
	}
	if test := checks[s.tag.Get("check")]; test != nil {
		return test(text)
	}
	return ""
}

// refuseNumber says why a number, or a duration, is out of its range. Where zero is the
// default, it means that nothing is set.
func (s *setting) refuseNumber(v reflect.Value) string {
	low, high := s.tag.Get("min"), s.tag.Get("max")
	base, err := defaults()
	unset := err == nil && base[s.path].value.IsZero()
	if low == "" && high == "" || unset && v.IsZero() {
		return ""
	}
	n, least, most := number(v), s.bound(low, -1), s.bound(high, +1)
	if n >= least && n <= most { // false for NaN
		return ""
	}
	switch {
	case high == "":
		return "must be " + low + " or more"
	case unset && least > 0:
		return "must be from " + low + " to " + high + ", or empty"
	}
	return "must be from " + low + " to " + high
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
	v, err := s.parse(tag)
	if err != nil {
		return math.NaN() // nothing passes: a test reads every bound
	}
	return number(v)
}

// memoryKinds are the kinds of memory that there are.
var memoryKinds = []string{
	string(reverie.KindGroup), string(reverie.KindSession), string(reverie.KindDream), string(reverie.KindTeam),
}

// checks say why a text is none of a kind, or nothing. They never repeat what [url.Parse]
// says, since that holds the address with its password.
var checks = map[string]func(text string) string{
	"url": func(text string) string {
		u, err := url.Parse(text)
		return unless(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil,
			"must be an address such as https://api.example.com/v1, without user and password")
	},
	"database": func(text string) string { // or the key=value form of libpq
		u, err := url.Parse(text)
		return unless(!strings.Contains(text, "://") && strings.Contains(text, "=") ||
			err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql"),
			"must be a connection URL such as postgres://user:password@host:5432/name?sslmode=require; "+
				"write special characters of the password in percent form, @ as %40")
	},
	"zone": func(text string) string {
		_, err := reverie.Group{TimeZone: text}.Location()
		return unless(err == nil, "must be an IANA time zone such as UTC, Asia/Shanghai or Europe/Berlin")
	},
	"clock": func(text string) string {
		_, err := reverie.Group{DayBoundary: text}.Boundary()
		return unless(err == nil, "must be HH:MM, from 00:00 to 23:59, such as 04:00")
	},
	"schedule": func(text string) string {
		_, err := specOf(text)
		said := fmt.Sprintf("schedule %q: %v: ", text, reverie.ErrInvalid) // by the report already
		return strings.TrimPrefix(words(err), said)
	},
	"price": func(text string) string {
		_, err := llm.ParsePrices([]string{text})
		return words(err)
	},
	"team": func(text string) string {
		return unless(reverie.CheckTeam(text) == nil,
			"must have 1 to 64 letters, digits, dots, dashes and underscores, and not be off; empty = none")
	},
	"kind": func(text string) string {
		return unless(slices.Contains(memoryKinds, text), fmt.Sprintf("%q is none of %s", text,
			strings.Join(memoryKinds, ", ")))
	},
	"keyword": func(text string) string {
		return unless(strings.TrimSpace(text) != "", "has an empty keyword, which every query would have: take it out")
	},
}

func unless(ok bool, why string) string {
	if ok {
		return ""
	}
	return why
}

func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// together checks settings that depend on each other. A %s of the reason stands for
// another setting's value and origin.
func (c *checker) together() {
	cfg := c.cfg
	must := func(ok bool, path, why string, others ...string) {
		if ok {
			return
		}
		var values []any
		for _, o := range others {
			v := fmt.Sprint(configSchema().byPath[o].field(cfg).Interface())
			values = append(values, fmt.Sprintf("%s (%s, %s)", o, v, cfg.origins.Origin(o)))
		}
		c.report(path, fmt.Sprintf(why, values...))
	}
	db, e, s, f := cfg.Database, cfg.Embed, cfg.ShortTerm, cfg.Feedback
	must(db.ReadTimeout.Duration > db.StatementTimeout.Duration, "database.read_timeout",
		"must be longer than %s", "database.statement_timeout")
	must(db.ReadTimeout.Duration > db.IdleTimeout.Duration+db.LockTimeout.Duration, "database.read_timeout",
		"must be longer than %s and %s together", "database.idle_timeout", "database.lock_timeout")
	must(e.Floor < e.Ceiling || e.Floor == 0 && e.Ceiling == 0, "embed.floor",
		"must be less than %s, or both 0 for what is known of the model", "embed.ceiling")
	must(cfg.Evolve.Target <= cfg.Evolve.MaxActive, "evolve.target", "must be at most %s", "evolve.max_active")
	must(s.CompressionThreshold <= 0 || s.MaxItems <= s.CompressionThreshold, "short_term.max_items",
		"must be at most %s, beyond which all but so many turns are folded", "short_term.compression_threshold")
	must(f.MinWeight <= f.MaxWeight, "feedback.min_weight", "must be at most %s", "feedback.max_weight")
	must(cfg.Recall.LongTermTrigger != "keywords" || len(cfg.Recall.TriggerKeywords) > 0, "recall.trigger_keywords",
		"must not be empty where recall.long_term_trigger is keywords ("+
			cfg.origins.Origin("recall.long_term_trigger").String()+")")
}
