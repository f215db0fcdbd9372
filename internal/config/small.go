package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Small is a reverie.toml of the settings that are given, by their paths; those that are
// empty are left out. The settings must be ones that [Load] takes as flags.
func Small(values map[string]string) (string, error) {
	var b strings.Builder
	b.WriteString("# Written by `reverie init`; `reverie config init` prints every setting.\n")
	section := ""
	for _, s := range configSchema().settings {
		if values[s.path] == "" {
			continue
		}
		v, err := s.parse(values[s.path])
		if err != nil {
			return "", s.problem(values[s.path], Origin{Layer: LayerFlag, Name: flagName(s.path)}, err)
		}
		at := strings.LastIndexByte(s.path, '.')
		if s.path[:at] != section {
			section = s.path[:at]
			fmt.Fprintf(&b, "\n[%s]\n", section)
		}
		fmt.Fprintf(&b, "%s = %s\n", s.path[at+1:], tomlText(v))
	}
	return b.String(), nil
}

// NewFile is where a new configuration file goes: the one that is named, else reverie.toml
// in the working directory.
func (in Input) NewFile() string {
	name := in.Path
	for _, pair := range in.Env {
		if value, is := strings.CutPrefix(pair, envConfig+"="); is && in.Path == "" {
			name = value
		}
	}
	if name == "" {
		name = "reverie.toml"
	}
	return in.absolute(name)
}

// Without is the input as if there were no file.
func (in Input) Without() Input {
	in.Path = os.DevNull
	return in
}

// Beside is how a file at dir names another file: by its path from there, where it lies
// below, else by all of it.
func (in Input) Beside(dir, name string) string {
	whole := in.absolute(name)
	if rel, err := filepath.Rel(dir, whole); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return whole
}
