package config

import (
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"reverie/internal/text"
)

// text returns the setting's value in TOML, with secrets masked.
func (s *setting) text(cfg *Config) string {
	v := s.field(cfg)
	if s.secret() || s.address() {
		return strconv.Quote(s.redact(v.String()))
	}
	return tomlText(v)
}

// address reports whether the value is an address of which only a part may be secret. An address that is secret as
// a whole, such as a webhook's, is not.
func (s *setting) address() bool {
	check := s.tag.Get("check")
	return check == "database" || check == "url" && !s.secret()
}

// redact masks the secret part of a text: all of a key, the password of an address.
func (s *setting) redact(text string) string {
	switch {
	case text == "":
		return ""
	case s.address():
		return redactAddress(text)
	default:
		return mask
	}
}

// tomlText returns a value in TOML, empty if it is not set.
func tomlText(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case Duration:
		return strconv.Quote(x.String())
	case *float64:
		if x == nil {
			return `""`
		}
		return floatText(*x)
	case float64:
		return floatText(x)
	case []string:
		return "[" + strings.Join(text.Each(x, strconv.Quote), ", ") + "]"
	case int:
		return strconv.Itoa(x)
	case bool:
		return strconv.FormatBool(x)
	default:
		return strconv.Quote(v.String())
	}
}

// floatText formats a number so that TOML reads it as a float.
func floatText(f float64) string {
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.ContainsAny(s, ".") {
		s += ".0"
	}
	return s
}

// secretQuery matches query parameters of an address whose values are secret.
var secretQuery = text.NewPattern(`(?i)(?:password|passwd|secret|token|key|auth|sig|signature)=`)

// redactAddress masks the password of a URL, and its query if that contains a secret. It also masks the user of a
// web address, which may be a key. A text that is no URL, such as a connection string of key=value pairs, is masked
// as a whole.
func redactAddress(address string) string {
	u, err := url.Parse(address)
	// A password may contain a slash.
	if err != nil || u.Host == "" || strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") {
		return mask
	}
	if u.User != nil && strings.HasPrefix(u.Scheme, "http") {
		u.User = url.UserPassword("", "")
	}
	before, query, _ := strings.Cut(u.Redacted(), "?")
	if _, has := u.User.Password(); has {
		before = strings.Replace(before, ":xxxxx@", ":"+mask+"@", 1)
	}
	switch {
	case query == "":
		return before
	case secretQuery.MatchString(query):
		query = mask
	}
	return before + "?" + query
}

// Shown is the configuration as `reverie config` shows it: each setting with its effective value and origin. Secrets
// are masked.
type Shown struct {
	File     string         `json:"file"`
	Settings []shownSetting `json:"settings"`
}

type shownSetting struct {
	Setting string `json:"setting"`
	Value   any    `json:"value"` // number, text, list, true or false; a duration is a text, null means not set
	Origin  string `json:"origin"`
	Env     string `json:"env"`
	Text    string `json:"-"` // the value as a file has it
}

// Show returns all settings.
func Show(cfg *Config, prov *Provenance) Shown {
	out := Shown{File: prov.File}
	for _, s := range configSchema().settings {
		out.Settings = append(out.Settings, shownSetting{s.path, s.json(cfg), prov.Origin(s.path).String(), s.env, s.text(cfg)})
	}
	return out
}

// json returns the value for an encoder, with secrets masked.
func (s *setting) json(cfg *Config) any {
	v := s.field(cfg)
	switch {
	case s.secret() || s.address():
		return s.redact(v.String())
	case v.Kind() == reflect.String:
		return v.String()
	}
	return v.Interface()
}
