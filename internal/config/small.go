package config

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Small returns a reverie.toml of the given settings, by path, without empty ones.
func Small(values map[string]string) (string, error) {
	var b strings.Builder
	b.WriteString("# Written by `reverie init`; `reverie config init` prints every setting.\n")
	section := ""
	for _, s := range configSchema().settings {
		v, err := s.parse(values[s.path])
		if err != nil {
			return "", s.problem(values[s.path], Origin{}, err)
		}
		if values[s.path] == "" {
			continue
		}
		if now := strings.TrimSuffix(s.path, "."+s.key); now != section {
			section = now
			fmt.Fprintf(&b, "\n[%s]\n", section)
		}
		fmt.Fprintf(&b, "%s = %s\n", s.key, tomlText(v))
	}
	return b.String(), nil
}

// NewFile returns the path of a new configuration file: the named one, otherwise reverie.toml in the working
// directory.
func (in Input) NewFile() string {
	named := ""
	for _, pair := range in.Env {
		if value, is := strings.CutPrefix(pair, envConfig+"="); is {
			named = value
		}
	}
	return in.absolute(cmp.Or(in.Path, named, "reverie.toml"))
}

// Without returns the input without a configuration file.
func (in Input) Without() Input {
	in.Path = os.DevNull
	return in
}

// Beside returns how a file in dir refers to another file: by a relative path if that is below dir, otherwise by
// the full path.
func (in Input) Beside(dir, name string) string {
	whole := in.absolute(name)
	if rel, err := filepath.Rel(dir, whole); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return whole
}

// Short returns a file's name for people: relative if it is below the working directory.
func (in Input) Short(name string) string { return in.Beside(cmp.Or(in.WorkDir, "."), name) }
