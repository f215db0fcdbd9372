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

// check returns all problems of the values of cfg: of single settings, and of settings that depend on each other.
func check(cfg *Config) (problems []error) {
	report := func(s *setting, err error) {
		problems = append(problems, s.problem(s.text(cfg), cfg.origins.Origin(s.path), err))
	}
	for _, s := range configSchema().settings {
		if err := s.refuse(s.field(cfg)); err != nil {
			report(s, err)
		}
	}
	together(cfg, report)
	return problems
}

// refuse returns why the tags do not allow a value.
func (s *setting) refuse(v reflect.Value) error {
	switch x := v.Interface().(type) {
	case []string:
		if len(x) == 0 && s.tag.Get("empty") == "no" {
			return errors.New("must not be empty")
		}
		for _, item := range x {
			if err := s.refuseText(item); err != nil {
				return err
			}
		}
		return nil
	case string, Secret:
		return s.refuseText(v.String())
	}
	return s.refuseNumber(v)
}

func (s *setting) refuseText(text string) error {
	options := s.options()
	list, mustSay := strings.Join(options, ", "), s.tag.Get("empty") == "no"
	switch {
	case text == "" && mustSay && list != "":
		return errors.New("must not be empty, but one of " + list)
	case text == "" && mustSay:
		return errors.New("must not be empty")
	case text == "" && s.typ.Kind() == reflect.String:
		return nil
	case len(options) > 0 && !slices.Contains(options, text):
		if !mustSay {
			list += ", or empty"
		}
		return errors.New("must be one of " + list)
	}
	if test := checks[s.tag.Get("check")]; test != nil {
		return test(text)
	}
	return nil
}

// refuseNumber returns why a number or duration is out of its range. If the default is zero, zero is always
// allowed.
func (s *setting) refuseNumber(v reflect.Value) error {
	low, high := s.tag.Get("min"), s.tag.Get("max")
	base, err := defaults()
	unset := err == nil && base[s.path].value.IsZero()
	if low == "" && high == "" || unset && v.IsZero() {
		return nil
	}
	n, least, most := number(v), s.bound(low, -1), s.bound(high, +1)
	why := "must be from " + low + " to " + high
	switch {
	case high == "":
		why = "must be " + low + " or more"
	case unset && least > 0:
		why += ", or empty"
	}
	return unless(n >= least && n <= most, why) // NaN fails
}

// number returns the size of a value in the unit of its bounds.
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

// bound parses a min or max tag; without the tag it returns infinity with the given sign.
func (s *setting) bound(tag string, sign int) float64 {
	if tag == "" {
		return math.Inf(sign)
	}
	v, err := s.parse(tag)
	if err != nil {
		return math.NaN() // refuses every value: a test parses every bound
	}
	return number(v)
}

// memoryKinds are all kinds of memory.
var memoryKinds = []string{
	string(reverie.KindGroup), string(reverie.KindSession), string(reverie.KindDream), string(reverie.KindTeam),
}

// checks return why a text is invalid, or nil. They never repeat the errors of [url.Parse], which contain the
// address with its password.
var checks = map[string]func(text string) error{
	"url": func(text string) error {
		u, err := url.Parse(text)
		return unless(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil,
			"must be an address such as https://api.example.com/v1, without user and password")
	},
	"database": func(text string) error { // also the key=value form of libpq
		u, err := url.Parse(text)
		return unless(!strings.Contains(text, "://") && strings.Contains(text, "=") ||
			err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql"),
			"must be a connection URL such as postgres://user:password@host:5432/name?sslmode=require; "+
				"write special characters of the password in percent form, @ as %40")
	},
	"zone": func(text string) error {
		_, err := reverie.Group{TimeZone: text}.Location()
		return unless(err == nil, "must be an IANA time zone such as UTC, Asia/Shanghai or Europe/Berlin")
	},
	"clock": func(text string) error {
		_, err := reverie.Group{DayBoundary: text}.Boundary()
		return unless(err == nil, "must be HH:MM, from 00:00 to 23:59, such as 04:00")
	},
	"off_peak": func(text string) error {
		_, err := llm.ParseOffPeak(text)
		return unless(err == nil, "must be hours and a time zone, such as 01:00-04:00 UTC or 22:30-08:30 Asia/Shanghai")
	},
	"schedule": func(text string) error {
		_, err := specOf(text)
		if err == nil {
			return nil
		}
		said := fmt.Sprintf("schedule %q: %v: ", text, reverie.ErrInvalid) // the report adds the prefix already
		return errors.New(strings.TrimPrefix(err.Error(), said))
	},
	"price": func(text string) error {
		_, err := llm.ParsePrices([]string{text})
		return err
	},
	"team": func(text string) error {
		return unless(reverie.CheckTeam(text) == nil,
			"must have 1 to 64 letters, digits, dots, dashes and underscores, and not be off; empty = none")
	},
	"kind": func(text string) error {
		return unless(slices.Contains(memoryKinds, text), fmt.Sprintf("%q is not one of %s", text,
			strings.Join(memoryKinds, ", ")))
	},
	"keyword": func(text string) error {
		return unless(strings.TrimSpace(text) != "", "has an empty keyword, which every query would have: take it out")
	},
}

func unless(ok bool, why string) error {
	if ok {
		return nil
	}
	return errors.New(why)
}

// together checks settings that depend on each other. The %s in a reason stands for the value and origin of the
// other setting.
func together(cfg *Config, report func(*setting, error)) {
	must := func(ok bool, path, why string, others ...string) {
		if ok {
			return
		}
		var values []any
		for _, o := range others {
			v := fmt.Sprint(configSchema().byPath[o].field(cfg).Interface())
			values = append(values, fmt.Sprintf("%s (%s, %s)", o, v, cfg.origins.Origin(o)))
		}
		report(configSchema().byPath[path], fmt.Errorf(why, values...))
	}
	db, e, s, f := cfg.Database, cfg.Embed, cfg.ShortTerm, cfg.Feedback
	must(db.ReadTimeout.Duration > db.StatementTimeout.Duration, "database.read_timeout",
		"must be longer than %s", "database.statement_timeout")
	must(db.ReadTimeout.Duration > db.IdleTimeout.Duration+db.LockTimeout.Duration, "database.read_timeout",
		"must be longer than %s and %s together", "database.idle_timeout", "database.lock_timeout")
	must(e.Floor < e.Ceiling || e.Floor == 0 && e.Ceiling == 0, "embed.floor",
		"must be less than %s, or both 0 to have them measured", "embed.ceiling")
	must(cfg.Evolve.Target <= cfg.Evolve.MaxActive, "evolve.target", "must be at most %s", "evolve.max_active")
	must(s.CompressionThreshold <= 0 || s.MaxItems <= s.CompressionThreshold, "short_term.max_items",
		"must be at most %s, beyond which all but so many turns are folded", "short_term.compression_threshold")
	must(f.MinWeight <= f.MaxWeight, "feedback.min_weight", "must be at most %s", "feedback.max_weight")
	must(cfg.Recall.LongTermTrigger != "keywords" || len(cfg.Recall.TriggerKeywords) > 0, "recall.trigger_keywords",
		"must not be empty where recall.long_term_trigger is keywords ("+
			cfg.origins.Origin("recall.long_term_trigger").String()+")")
}
