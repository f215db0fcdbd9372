package config

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Small is a reverie.toml of the settings that are given, by their paths; those that are
// empty are left out.
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

// NewFile is where a new configuration file goes: the one that is named, else reverie.toml
// in the working directory.
func (in Input) NewFile() string {
	named := ""
	for _, pair := range in.Env {
		if value, is := strings.CutPrefix(pair, envConfig+"="); is {
			named = value
		}
	}
	return in.absolute(cmp.Or(in.Path, named, "reverie.toml"))
}

// Without is the input as if there were no file.
func (in Input) Without() Input {
	in.Path = os.DevNull
	return in
}

// Beside is how a file in dir names another file: by its path from there, where it lies
// below, else by all of it.
func (in Input) Beside(dir, name string) string {
	whole := in.absolute(name)
	if rel, err := filepath.Rel(dir, whole); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return whole
}

// Short is a file's name as people read it: relative where it lies below the working
// directory.
func (in Input) Short(name string) string { return in.Beside(cmp.Or(in.WorkDir, "."), name) }
