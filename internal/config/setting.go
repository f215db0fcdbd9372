package config

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2/unstable"
)

// envPrefix leads the name of every environment variable of ours.
const envPrefix = "REVERIE_"

// setting is one leaf of [Config].
type setting struct {
	path  string // "llm.evolve.model"
	key   string // "model"
	env   string // "REVERIE_LLM_EVOLVE_MODEL"
	index []int  // of the field, for reflect
	typ   reflect.Type
	tag   reflect.StructTag
}

// schema is all settings and sections, in the order of the struct.
type schema struct {
	settings []*setting
	sections []string
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

// secret tells whether the value must not be shown whole.
func (s *setting) secret() bool { return s.typ == reflect.TypeFor[Secret]() }

// field is the setting's place in cfg.
func (s *setting) field(cfg *Config) reflect.Value {
	return reflect.ValueOf(cfg).Elem().FieldByIndex(s.index)
}

// kind is how the values of a type are written.
type kind struct {
	expects string // for a person
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

// parse reads a value in the environment's spelling; empty is the zero value.
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

// parseTOML reads a value of a TOML document. An empty string is the zero value of
// optional numbers, too.
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
