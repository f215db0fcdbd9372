package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/caarlos0/env/v11"
)

// envPrefix leads the name of every environment variable of ours.
const envPrefix = "REVERIE_"

// setting is one leaf of [Config], as its tags describe it.
type setting struct {
	path    string // "llm.evolve.model"
	section string // "llm.evolve"
	key     string // "model"
	env     string // "REVERIE_LLM_EVOLVE_MODEL"
	index   []int  // of the field, for reflect
	typ     reflect.Type
	def     string // in the environment's spelling
	comment string
	options []string
	min     string // "" = unbounded
	max     string
	noEmpty bool

	tags sync.Map // from the texts of its tags to their values
}

// section is one table of the file.
type section struct {
	path    string
	comment string
}

// schema is all settings and sections, in the order of the struct.
type schema struct {
	settings []*setting
	sections []section
	byPath   map[string]*setting
	byEnv    map[string]*setting
}

// configSchema reads the tags of [Config], once.
var configSchema = sync.OnceValue(func() *schema {
	s := &schema{byPath: map[string]*setting{}, byEnv: map[string]*setting{}}
	s.walk(reflect.TypeFor[Config](), "", nil)
	return s
})

// walk adds the leaves of one struct: its own settings before its sections, as
// TOML wants them.
func (s *schema) walk(t reflect.Type, path string, index []int) {
	for _, sub := range [...]bool{false, true} {
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() || isSection(f.Type) != sub {
				continue
			}
			at := append(slices.Clone(index), i)
			if sub {
				name := strings.TrimPrefix(path+"."+f.Tag.Get("toml"), ".")
				s.sections = append(s.sections, section{path: name, comment: f.Tag.Get("comment")})
				s.walk(f.Type, name, at)
				continue
			}
			s.add(f, path, at)
		}
	}
}

func (s *schema) add(f reflect.StructField, in string, index []int) {
	key := f.Tag.Get("toml")
	path := in + "." + key
	set := &setting{
		path: path, section: in, key: key, index: index, typ: f.Type,
		env:     envPrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_")),
		def:     f.Tag.Get("default"),
		comment: f.Tag.Get("comment"),
		min:     f.Tag.Get("min"),
		max:     f.Tag.Get("max"),
		noEmpty: f.Tag.Get("empty") == "no",
	}
	if o := f.Tag.Get("options"); o != "" {
		set.options = strings.Split(o, "|")
	}
	s.settings = append(s.settings, set)
	s.byPath[set.path] = set
	s.byEnv[set.env] = set
}

// isSection tells a table of settings from a setting.
func isSection(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != reflect.TypeFor[Duration]()
}

// hasSection tells whether path names a table.
func (s *schema) hasSection(path string) bool {
	return slices.ContainsFunc(s.sections, func(x section) bool { return x.path == path })
}

// secret tells whether the value must not be shown whole.
func (s *setting) secret() bool { return s.typ == reflect.TypeFor[Secret]() }

// field is the setting's place in cfg.
func (s *setting) field(cfg *Config) reflect.Value {
	return reflect.ValueOf(cfg).Elem().FieldByIndex(s.index)
}

// parse reads a value in the environment's spelling; empty is the zero value.
// Its error says what is expected and never repeats the text.
func (s *setting) parse(text string) (reflect.Value, error) {
	if v := reflect.New(s.typ).Elem(); text == "" {
		return v, nil
	} else if v.Kind() == reflect.String { // as most are, and each start reads them all
		v.SetString(text)
		return v, nil
	}
	// One field at a time, so that an error is this setting's.
	box := reflect.New(reflect.StructOf([]reflect.StructField{{Name: "V", Type: s.typ, Tag: `env:"V"`}}))
	err := env.ParseWithOptions(box.Interface(), env.Options{Environment: map[string]string{"V": text}})
	if err != nil {
		return reflect.Value{}, errors.New("must be " + s.expects())
	}
	v := box.Elem().Field(0)
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			v.Index(i).SetString(strings.TrimSpace(v.Index(i).String()))
		}
	}
	return v, nil
}

// tag is [setting.parse] for what a tag says: read once, since every load of a
// configuration asks for all of them. Lists and pointers are each load's own.
func (s *setting) tag(text string) (reflect.Value, error) {
	if v, known := s.tags.Load(text); known {
		return v.(reflect.Value), nil
	}
	v, err := s.parse(text)
	if err == nil && s.typ.Kind() != reflect.Slice && s.typ.Kind() != reflect.Pointer {
		s.tags.Store(text, v)
	}
	return v, err
}

// expects names the type of the setting for a person.
func (s *setting) expects() string {
	switch s.typ {
	case reflect.TypeFor[Duration]():
		return "a duration with its unit, such as 90s, 15m or 504h"
	case reflect.TypeFor[int]():
		return "a whole number"
	case reflect.TypeFor[float64](), reflect.TypeFor[*float64]():
		return "a number"
	case reflect.TypeFor[bool]():
		return "true or false"
	case reflect.TypeFor[[]string]():
		return `a list of texts, such as ["a", "b"]`
	default:
		return "a text in quotes"
	}
}

// defaults returns a Config as it is when nobody sets anything.
func (s *schema) defaults() (*Config, error) {
	cfg := &Config{}
	for _, set := range s.settings {
		v, err := set.tag(set.def)
		if err != nil {
			return nil, fmt.Errorf("default of %s: %w", set.path, err)
		}
		set.field(cfg).Set(v)
	}
	return cfg, nil
}

// DefaultOf is the default of a setting in the environment's spelling, "" for one
// that there is not.
func DefaultOf(path string) string {
	if set, ok := configSchema().byPath[path]; ok {
		return set.def
	}
	return ""
}
