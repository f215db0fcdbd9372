package config

import (
	"fmt"
	"strings"

	"reverie/internal/reverie"
)

// Layer is a kind of place where settings come from. A higher one wins.
type Layer int

// The layers, from the weakest to the strongest.
const (
	LayerDefault Layer = iota
	LayerFile
	LayerEnv
	LayerFlag
)

// Origin is where one value came from.
type Origin struct {
	Layer Layer
	Name  string // the file, the environment variable, or the flag with its dashes
	Line  int    // of the file, counts from 1

	column int
	from   string // the file that a secret was read from
}

// String is the origin as people read it: default, reverie.toml:12,
// REVERIE_LLM_MODEL, or --llm.
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

// position is the origin with its column, for problems of a file.
func (o Origin) position() string {
	if o.Layer == LayerFile && o.column > 0 {
		return fmt.Sprintf("%s:%d:%d", o.Name, o.Line, o.column)
	}
	return o.String()
}

// Provenance says where each setting of a [Config] came from.
type Provenance struct {
	File    string // the configuration file that was read, "" without one
	origins map[string]Origin
}

// Origin of the setting at path, such as "llm.model".
func (p *Provenance) Origin(path string) Origin {
	if p == nil {
		return Origin{}
	}
	return p.origins[path]
}

// problemError is one thing wrong with the configuration. It is a
// [reverie.ErrConfiguration].
type problemError struct {
	path   string // the setting, "" where the place says enough
	value  string // as it may be shown
	origin Origin
	reason string
}

func (e *problemError) Error() string {
	var b strings.Builder
	if e.path == "" {
		fmt.Fprintf(&b, "%s: %s", e.origin.position(), e.reason)
		return b.String()
	}
	fmt.Fprintf(&b, "%s = %s (%s): %s", e.path, e.value, e.origin.position(), e.reason)
	return b.String()
}

// Is makes errors.Is(err, reverie.ErrConfiguration) true.
func (e *problemError) Is(target error) bool { return target == reverie.ErrConfiguration }

// problem is one thing wrong with a value of the setting; a secret is masked.
func (s *setting) problem(value string, at Origin, err error) error {
	if s.secret() {
		value = mask
	}
	return &problemError{path: s.path, value: value, origin: at, reason: err.Error()}
}

func problemf(at Origin, format string, args ...any) error {
	return &problemError{origin: at, reason: fmt.Sprintf(format, args...)}
}
