package prompts

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"reverie/internal/reverie"
)

// Replaced returns a set with a file in place of the prompt of a name, such as
// memory_evolve; s stays as it was. A file called like one of ours,
// memory_evolve.zh.md, is for its language, any other one for both. Of a directory all
// prompts are taken. What an override may not be, this may not be either.
func (s *Set) Replaced(name, path string) (*Set, error) {
	with := &Set{texts: maps.Clone(s.texts)}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("prompt file: %w: %w", reverie.ErrConfiguration, err)
	}
	if info.IsDir() {
		return with, with.override(path)
	}
	keys := []string{name + "." + English, name + "." + Chinese}
	if own := strings.TrimSuffix(filepath.Base(path), ".md"); s.texts[own] != nil {
		if nameOf(own) != name {
			return nil, fmt.Errorf("prompt file %s: %w: it is a %s, and a %s is wanted", path, reverie.ErrConfiguration, nameOf(own), name)
		}
		keys = []string{own}
	}
	raw, err := os.ReadFile(path)
	for _, key := range keys {
		if err == nil {
			err = with.add(key+".md", "the file "+path, raw)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("prompt file %s: %w: %w", path, reverie.ErrConfiguration, err)
	}
	return with, nil
}
