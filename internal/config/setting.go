package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pelletier/go-toml/v2/unstable"

	"reverie/internal/reverie"
)

// envPrefix is the prefix of all environment variables of ours.
const envPrefix = "REVERIE_"

// setting is one leaf of [Config].
type setting struct {
	path  string // "llm.evolve.model"
	key   string // "model"
	env   string // "REVERIE_LLM_EVOLVE_MODEL"
	index []int  // index of the field, for reflect
	typ   reflect.Type
	tag   reflect.StructTag
}

// schema holds all settings and sections, in the order of the struct.
type schema struct {
	settings []*setting
	sections []string
	byPath   map[string]*setting
	byEnv    map[string]*setting
}

// configSchema parses the tags of [Config], once.
var configSchema = sync.OnceValue(func() *schema {
	s := &schema{byPath: map[string]*setting{}, byEnv: map[string]*setting{}}
	s.walk(reflect.TypeFor[Config](), "", nil)
	return s
})

// walk adds the leaves of one struct: its own settings before its sections, as TOML requires.
func (s *schema) walk(t reflect.Type, section string, index []int) {
	var sections []reflect.StructField
	for f := range t.Fields() {
		switch {
		case !f.IsExported():
		case f.Anonymous:
			s.walk(f.Type, section, append(slices.Clone(index), f.Index...))
		case f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[Duration]():
			sections = append(sections, f)
		default:
			s.add(f, section, append(slices.Clone(index), f.Index...))
		}
	}
	for _, f := range sections {
		path := strings.TrimPrefix(section+"."+f.Tag.Get("toml"), ".")
		s.sections = append(s.sections, path)
		s.walk(f.Type, path, append(slices.Clone(index), f.Index...))
	}
}

func (s *schema) add(f reflect.StructField, section string, index []int) {
	key := f.Tag.Get("toml")
	path := section + "." + key
	set := &setting{path: path, key: key, index: index, typ: f.Type, tag: f.Tag,
		env: envPrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))}
	s.settings = append(s.settings, set)
	s.byPath[set.path] = set
	s.byEnv[set.env] = set
}

// options returns the only allowed words; none if any value is allowed.
func (s *setting) options() []string {
	return strings.FieldsFunc(s.tag.Get("options"), func(r rune) bool { return r == '|' })
}

// Options returns the only allowed words of a setting; none if any value is allowed.
func Options(path string) []string { return configSchema().byPath[path].options() }

// secret reports whether the value must not be shown in full.
func (s *setting) secret() bool { return s.typ == reflect.TypeFor[Secret]() }

// field returns the setting's field in cfg.
func (s *setting) field(cfg *Config) reflect.Value {
	return reflect.ValueOf(cfg).Elem().FieldByIndex(s.index)
}

// kind is the syntax of a type's values.
type kind struct {
	expects string // shown to people
	toml    []unstable.Kind
}

var kinds = map[reflect.Type]kind{
	reflect.TypeFor[Duration](): {"a duration with its unit, such as 90s, 15m or 504h", []unstable.Kind{unstable.String}},
	reflect.TypeFor[int]():      {"a whole number", []unstable.Kind{unstable.Integer}},
	reflect.TypeFor[float64]():  {"a number", []unstable.Kind{unstable.Integer, unstable.Float}},
	reflect.TypeFor[*float64](): {"a number", []unstable.Kind{unstable.Integer, unstable.Float}},
	reflect.TypeFor[bool]():     {"true or false", []unstable.Kind{unstable.Bool}},
	reflect.TypeFor[[]string](): {`a list of texts, such as ["a", "b"]`, []unstable.Kind{unstable.Array}},
	reflect.TypeFor[string]():   {"a text in quotes", []unstable.Kind{unstable.String}},
	reflect.TypeFor[Secret]():   {"a text in quotes", []unstable.Kind{unstable.String}},
}

// wrongType says what is expected, and never repeats the value.
func (s *setting) wrongType() error { return errors.New("must be " + kinds[s.typ].expects) }

// parse parses a value in the environment's syntax; empty is the zero value.
func (s *setting) parse(text string) (reflect.Value, error) {
	v := reflect.New(s.typ).Elem()
	if text == "" {
		return v, nil
	}
	var err error
	switch p := v.Addr().Interface().(type) {
	case *int:
		*p, err = strconv.Atoi(text)
	case *float64:
		*p, err = strconv.ParseFloat(text, 64)
	case **float64:
		*p = new(float64)
		**p, err = strconv.ParseFloat(text, 64)
	case *bool:
		*p, err = strconv.ParseBool(text)
	case *Duration:
		err = p.UnmarshalText([]byte(text))
	case *[]string:
		for item := range strings.SplitSeq(text, ",") {
			*p = append(*p, strings.TrimSpace(item))
		}
	default:
		v.SetString(text)
	}
	if err != nil {
		err = s.wrongType()
	}
	return v, err
}

// parseTOML parses a value of a TOML document. An empty string is also the zero value of optional numbers.
func (s *setting) parseTOML(n *unstable.Node) (reflect.Value, error) {
	noNumber := n.Kind == unstable.String && len(n.Data) == 0 && s.typ.Kind() == reflect.Pointer
	if !noNumber && !slices.Contains(kinds[s.typ].toml, n.Kind) {
		return reflect.Value{}, s.wrongType()
	}
	switch n.Kind {
	case unstable.Array:
		list := []string{}
		for it := n.Children(); it.Next(); {
			if it.Node().Kind != unstable.String {
				return reflect.Value{}, s.wrongType()
			}
			list = append(list, strings.TrimSpace(string(it.Node().Data)))
		}
		return reflect.ValueOf(list), nil
	case unstable.Integer, unstable.Float:
		return s.parse(strings.ReplaceAll(string(n.Data), "_", ""))
	}
	return s.parse(string(n.Data))
}

// mask replaces what must not be shown.
const mask = "••••"

// Secret is a text that no printer, logger or encoder shows: it prints as a mask, or as nothing if empty.
type Secret string

// Reveal returns the text itself, for the only place that needs it.
func (s Secret) Reveal() string { return string(s) }

// String hides the text.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// GoString hides the text from %#v.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// MarshalJSON hides the text from encoding/json.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// LogValue hides the text from log/slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Duration is a [time.Duration] in Go's syntax: 90s, 1h30m.
type Duration struct{ time.Duration }

// UnmarshalText parses what [time.ParseDuration] parses; empty is zero.
func (d *Duration) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		d.Duration = 0
		return nil
	}
	v, err := time.ParseDuration(string(text))
	d.Duration = v
	return err
}

// MarshalText writes the shortest form that can be parsed: 504h, not 504h0m0s. Zero is empty.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String returns the shortest form that can be parsed, empty for zero.
func (d Duration) String() string {
	if d.Duration == 0 {
		return ""
	}
	s := d.Duration.String()
	for _, zero := range [...]string{"m0s", "h0m"} {
		if n := len(s) - len(zero); n > 0 && s[n:] == zero {
			s = s[:n+1]
		}
	}
	return s
}

// Layer is a kind of source of settings. A higher one overrides a lower one.
type Layer int

// The layers, weakest first.
const (
	LayerDefault Layer = iota
	LayerFile
	LayerEnv
	LayerFlag
)

// Origin is the source of one value.
type Origin struct {
	Layer Layer
	Name  string // the file, the environment variable, or the flag with its dashes
	Line  int    // of the file, counts from 1

	column int
	from   string // the file that contained a secret
}

// String returns the origin for people: default, reverie.toml:12, REVERIE_LLM_MODEL, or --llm.
func (o Origin) String() string {
	s := o.Name
	switch {
	case o.Layer == LayerDefault:
		s = "default"
	case o.Layer == LayerFile && o.Line > 0:
		s = fmt.Sprintf("%s:%d", o.Name, o.Line)
	}
	if o.from != "" {
		s += " (" + o.from + ")"
	}
	return s
}

// position returns the origin with its column, for problems of a file.
func (o Origin) position() string {
	if o.Layer == LayerFile && o.column > 0 {
		return fmt.Sprintf("%s:%d:%d", o.Name, o.Line, o.column)
	}
	return o.String()
}

// Provenance holds the origin of each setting of a [Config].
type Provenance struct {
	File    string // the configuration file in use, "" if none
	origins map[string]Origin
}

// Origin returns the origin of the setting at path, such as "llm.model".
func (p *Provenance) Origin(path string) Origin {
	if p == nil {
		return Origin{}
	}
	return p.origins[path]
}

// problemError is one problem of the configuration. It is a [reverie.ErrConfiguration].
type problemError string

func (e problemError) Error() string { return string(e) }

// Is makes errors.Is(err, reverie.ErrConfiguration) true.
func (e problemError) Is(target error) bool { return target == reverie.ErrConfiguration }

// problem returns a problem of the setting's value; a secret is masked.
func (s *setting) problem(value string, at Origin, err error) error {
	if s.secret() {
		value = mask
	}
	return problemError(fmt.Sprintf("%s = %s (%s): %v", s.path, value, at.position(), err))
}

func problemf(at Origin, format string, args ...any) error {
	return problemError(at.position() + ": " + fmt.Sprintf(format, args...))
}
