package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlKey is one key or table of a file, and where it stands.
type tomlKey struct {
	path         []string
	line, column int
	table        bool // [a.b], or a = { ... }
	list         bool // [[a.b]]
}

// readFile turns a TOML document into a layer. It is strict: each key that is
// no setting, and each value of the wrong type, is a problem of its own, with
// its position and, for a key, the nearest one that exists.
func (s *schema) readFile(name string, doc []byte) (layer, []error) {
	doc = bytes.TrimPrefix(doc, []byte("\ufeff"))
	var values map[string]any
	if err := toml.Unmarshal(doc, &values); err != nil {
		return nil, []error{syntaxProblem(name, err)}
	}
	keys, err := tomlKeys(doc)
	if err != nil {
		return nil, []error{syntaxProblem(name, err)}
	}
	out := layer{}
	var problems []error
	var refused []string // tables whose keys need no error of their own
	for _, k := range keys {
		path := strings.Join(k.path, ".")
		if hasAncestor(refused, path) {
			continue
		}
		at := Origin{Layer: LayerFile, Name: name, Line: k.line, column: k.column}
		set, problem := s.accept(k, path, at)
		if problem == nil && set != nil {
			var v reflect.Value
			if v, problem = set.fromTOML(lookUp(values, k.path)); problem == nil {
				out[path] = entry{value: v, origin: at}
				continue
			}
			problem = &problemError{path: path, value: shown(set, lookUp(values, k.path)), origin: at, reason: problem.Error()}
		}
		if problem != nil {
			problems = append(problems, problem)
			refused = append(refused, path)
		}
	}
	return out, problems
}

// accept finds the setting that a key is. Nil and nil: a section.
func (s *schema) accept(k tomlKey, path string, at Origin) (*setting, error) {
	set, isSetting := s.byPath[path]
	switch {
	case k.list:
		return nil, problemf(at, "[[%s]] is a list of tables, and there is none in this file: write [%s] once", path, path)
	case k.table && s.hasSection(path):
		return nil, nil
	case k.table && isSetting:
		return nil, problemf(at, "%s is a setting, not a section: write %s = ... below [%s]", path, set.key, set.section)
	case k.table:
		return nil, problemf(at, "unknown section [%s]%s", path, suggest(path, s.sectionNames()))
	case s.hasSection(path):
		return nil, problemf(at, "%s is a section, not a setting: write [%s], and its settings below", path, path)
	case !isSetting:
		return nil, problemf(at, "unknown setting %s%s", path, suggest(path, s.settingNames()))
	}
	return set, nil
}

// fromTOML turns a decoded value into the setting's type. An empty string is
// the zero value of durations and optional numbers, too.
func (s *setting) fromTOML(v any) (reflect.Value, error) {
	wrong := func() (reflect.Value, error) { return reflect.Value{}, errors.New("must be " + s.expects()) }
	switch v := v.(type) {
	case string:
		if k := s.typ.Kind(); k == reflect.Int || k == reflect.Float64 || k == reflect.Slice || k == reflect.Bool {
			return wrong()
		}
		if s.typ == reflect.TypeFor[*float64]() && v != "" {
			return wrong()
		}
		return s.parse(v)
	case bool:
		if s.typ.Kind() != reflect.Bool {
			return wrong()
		}
		return reflect.ValueOf(v), nil
	case int64:
		if !s.isNumber() {
			return wrong()
		}
		return s.parse(strconv.FormatInt(v, 10))
	case float64:
		if !s.isNumber() || s.typ.Kind() == reflect.Int {
			return wrong()
		}
		return s.parse(strconv.FormatFloat(v, 'g', -1, 64))
	case []any:
		if s.typ != reflect.TypeFor[[]string]() {
			return wrong()
		}
		list := make([]string, len(v))
		for i, item := range v {
			text, ok := item.(string)
			if !ok {
				return wrong()
			}
			list[i] = strings.TrimSpace(text)
		}
		return reflect.ValueOf(list), nil
	default:
		return wrong()
	}
}

func (s *setting) isNumber() bool {
	switch s.typ {
	case reflect.TypeFor[int](), reflect.TypeFor[float64](), reflect.TypeFor[*float64]():
		return true
	}
	return false
}

// tomlKeys lists the keys and tables of a valid document in its order. Dotted
// keys and inline tables are brought to full paths.
func tomlKeys(doc []byte) ([]tomlKey, error) {
	var p unstable.Parser
	p.Reset(doc)
	var keys []tomlKey
	var table []string
	for p.NextExpression() {
		switch n := p.Expression(); n.Kind {
		case unstable.Table, unstable.ArrayTable:
			k := keyAt(&p, nil, n)
			k.table, k.list = true, n.Kind == unstable.ArrayTable
			table = k.path
			keys = append(keys, k)
		case unstable.KeyValue:
			keys = appendKeyValue(&p, keys, table, n)
		}
	}
	return keys, p.Error()
}

func appendKeyValue(p *unstable.Parser, keys []tomlKey, table []string, n *unstable.Node) []tomlKey {
	k := keyAt(p, table, n)
	k.table = n.Value().Kind == unstable.InlineTable
	keys = append(keys, k)
	if k.table {
		for it := n.Value().Children(); it.Next(); {
			keys = appendKeyValue(p, keys, k.path, it.Node())
		}
	}
	return keys
}

// keyAt reads the key of a node below table, and its position.
func keyAt(p *unstable.Parser, table []string, n *unstable.Node) tomlKey {
	k := tomlKey{path: append([]string(nil), table...)}
	for it := n.Key(); it.Next(); {
		if k.line == 0 {
			start := p.Shape(it.Node().Raw).Start
			k.line, k.column = start.Line, start.Column
		}
		k.path = append(k.path, string(it.Node().Data))
	}
	return k
}

// lookUp finds the decoded value of a path.
func lookUp(values map[string]any, path []string) any {
	var v any = values
	for _, key := range path {
		table, _ := v.(map[string]any)
		v = table[key]
	}
	return v
}

// hasAncestor tells whether path lies below one of the tables, or is one.
func hasAncestor(tables []string, path string) bool {
	for _, t := range tables {
		if path == t || strings.HasPrefix(path, t+".") {
			return true
		}
	}
	return false
}

// syntaxProblem says where a document is no TOML. The reader's own excerpt of
// the lines around is left out: it may show a key.
func syntaxProblem(name string, err error) error {
	at := Origin{Layer: LayerFile, Name: name}
	var d *toml.DecodeError
	if errors.As(err, &d) {
		at.Line, at.column = d.Position()
		return problemf(at, "not valid TOML: %s", strings.TrimPrefix(d.Error(), "toml: "))
	}
	return problemf(at, "not valid TOML: %v", err)
}

// shown is a refused value as an error may repeat it.
func shown(s *setting, v any) string {
	if s.secret() {
		return mask
	}
	if text, ok := v.(string); ok {
		return strconv.Quote(text)
	}
	return fmt.Sprint(v)
}
