package config

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// exampleFile is a complete reverie.toml: every setting with its explanation, its
// environment name and its default, commented out. Lines of settings begin with # and
// no space, so that they are told from prose.
//
//go:embed reverie.toml
var exampleFile string

// WriteInit writes a complete, commented reverie.toml.
func WriteInit(w io.Writer) error {
	if _, err := io.WriteString(w, exampleFile); err != nil {
		return fmt.Errorf("write the configuration file: %w", err)
	}
	return nil
}

// defaults is the layer of a file in which nothing is commented out.
var defaults = sync.OnceValues(func() (layer, error) {
	lines := strings.SplitAfter(exampleFile, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "#") && !strings.HasPrefix(l, "# ") && l != "#\n" {
			lines[i] = l[1:]
		}
	}
	l, problems := readKeys("reverie.toml", []byte(strings.Join(lines, "")))
	return l, errors.Join(problems...)
})

// fileReader turns a TOML document into a layer key by key, so that each value has its
// line, and everything that is wrong is found at once.
type fileReader struct {
	parser   unstable.Parser
	name     string
	layer    layer
	problems []error
}

// readFile turns a TOML document into a layer. It is strict: each key that is no
// setting, and each value of the wrong type, is a problem of its own, with its position.
func readFile(name string, doc []byte) (layer, []error) {
	doc = bytes.TrimPrefix(doc, []byte("\ufeff"))
	if err := toml.Unmarshal(doc, &map[string]any{}); err != nil {
		return nil, []error{syntaxProblem(name, err)}
	}
	return readKeys(name, doc)
}

// readKeys is readFile for a document that is known to be TOML.
func readKeys(name string, doc []byte) (layer, []error) {
	r := &fileReader{name: name, layer: layer{}}
	r.parser.Reset(doc)
	table, known := "", true
	for r.parser.NextExpression() {
		n := r.parser.Expression()
		if n.Kind == unstable.KeyValue {
			if known { // the keys of an unknown section need no error of their own
				r.keyValue(table, n)
			}
			continue
		}
		var at Origin
		table, at = r.key("", n)
		if known = n.Kind == unstable.Table && slices.Contains(configSchema().sections, table); !known {
			r.problems = append(r.problems, problemf(at, "unknown section [%s]: `reverie config init` shows all", table))
		}
	}
	return r.layer, r.problems
}

// keyValue reads one key below table; a value may be a table of its own.
func (r *fileReader) keyValue(table string, n *unstable.Node) {
	path, at := r.key(table, n)
	if n.Value().Kind == unstable.InlineTable && slices.Contains(configSchema().sections, path) {
		for it := n.Value().Children(); it.Next(); {
			r.keyValue(path, it.Node())
		}
		return
	}
	set, ok := configSchema().byPath[path]
	if !ok {
		r.problems = append(r.problems, problemf(at, "unknown setting %s: `reverie config` lists all", path))
		return
	}
	v, err := set.parseTOML(n.Value())
	if err != nil {
		r.problems = append(r.problems, set.problem(shown(n.Value()), at, err))
		return
	}
	r.layer[path] = entry{value: v, origin: at}
}

// key is the whole path of a node's key below table, and where it stands.
func (r *fileReader) key(table string, n *unstable.Node) (string, Origin) {
	at := Origin{Layer: LayerFile, Name: r.name}
	var parts []string
	if table != "" {
		parts = append(parts, table)
	}
	for it := n.Key(); it.Next(); {
		if at.Line == 0 {
			start := r.parser.Shape(it.Node().Raw).Start
			at.Line, at.column = start.Line, start.Column
		}
		parts = append(parts, string(it.Node().Data))
	}
	return strings.Join(parts, "."), at
}

// syntaxProblem says where a document is no TOML. The library's own excerpt of the
// lines around is left out: it may show a key.
func syntaxProblem(name string, err error) error {
	at := Origin{Layer: LayerFile, Name: name}
	var d *toml.DecodeError
	if errors.As(err, &d) {
		at.Line, at.column = d.Position()
		return problemf(at, "not valid TOML: %s", strings.TrimPrefix(d.Error(), "toml: "))
	}
	return problemf(at, "not valid TOML: %v", err)
}

// shown is a refused value of a file as an error repeats it.
func shown(n *unstable.Node) string {
	switch n.Kind {
	case unstable.String:
		return strconv.Quote(string(n.Data))
	case unstable.Array:
		return "[...]"
	case unstable.InlineTable:
		return "{...}"
	}
	return string(n.Data)
}
