// Package prompts holds the texts that Reverie sends to models, in Chinese and
// English, embedded in the binary. Each is a file beside this one with a name
// and a version in its head; a directory of the operator's may replace any of
// them, and so may a project of Langfuse. A text is rendered from typed data,
// and its version and hash are recorded with each run.
package prompts

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"reverie/internal/reverie"
)

//go:embed *.md
var embedded embed.FS

// The languages that every prompt exists in.
const (
	English = "en"
	Chinese = "zh"
)

// Set is a complete set of prompts: the embedded ones, some replaced by the
// operator's or by Langfuse's. Safe for concurrent use.
type Set struct {
	texts map[string]*promptText // "memory_evolve.en"
}

// text is one prompt in one language.
type promptText struct {
	version string
	sha256  string // see Rendered
	origin  string // where it comes from, for people
	system  *template.Template
	user    *template.Template // what stands around the data; nil: nothing does
}

// Rendered is a prompt ready to be sent.
type Rendered struct {
	System  string
	User    string // one JSON object, data only; a chat prompt of Langfuse may put words around it
	Name    string // memory_evolve.en
	Version string // of the file's head; "langfuse:7" for version 7 there
	SHA256  string // of the prompt's file, or of what Langfuse has: see [Set.With]
}

// Open returns the embedded prompts, with those of dir (memory_evolve.en.md and
// the like) in their place. An empty dir changes nothing. A file that is not a
// prompt we know, or that does not parse, is an error naming it.
func Open(dir string) (*Set, error) {
	s := &Set{texts: map[string]*promptText{}}
	names, err := fs.Glob(embedded, "*.md")
	if err != nil {
		return nil, fmt.Errorf("list embedded prompts: %w", err)
	}
	for _, name := range names {
		raw, err := embedded.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read embedded prompt %s: %w", name, err)
		}
		if err := s.add(name, "the built-in text", raw); err != nil {
			return nil, err
		}
	}
	if dir == "" {
		return s, nil
	}
	return s, s.override(dir)
}

// override replaces embedded prompts by the files of dir.
func (s *Set) override(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("prompts directory: %w: %w", reverie.ErrConfiguration, err)
	}
	var errs []error
	for _, e := range entries {
		if e.IsDir() || filepath.Ext(e.Name()) != ".md" {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if _, known := s.texts[strings.TrimSuffix(e.Name(), ".md")]; !known {
			errs = append(errs, fmt.Errorf("prompt file %s: %w: its name is none of ours; use one of %s",
				path, reverie.ErrConfiguration, strings.Join(s.files(), ", ")))
			continue
		}
		raw, err := os.ReadFile(path)
		if err == nil {
			err = s.add(e.Name(), "the file "+path, raw)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("prompt file %s: %w: %w", path, reverie.ErrConfiguration, err))
		}
	}
	return errors.Join(errs...)
}

// files lists the file names that an override may have.
func (s *Set) files() []string {
	names, _ := fs.Glob(embedded, "*.md") // the pattern is constant and valid
	return names
}

// add parses one prompt file: a head between --- lines, then a template.
func (s *Set) add(file, origin string, raw []byte) error {
	key := strings.TrimSuffix(file, ".md")
	head, body, err := cutHead(string(raw))
	if err != nil {
		return fmt.Errorf("prompt %s: %w", file, err)
	}
	if name, _, _ := strings.Cut(key, "."); head["name"] != name || head["version"] == "" {
		return fmt.Errorf("prompt %s: its head must say name: %s and a version", file, name)
	}
	t, err := parseText(key, body, nil)
	if err != nil {
		return fmt.Errorf("prompt %s: %w", file, err)
	}
	sum := sha256.Sum256(raw)
	t.version, t.sha256, t.origin = head["version"], hex.EncodeToString(sum[:]), origin
	s.texts[key] = t
	return nil
}

// cutHead cuts a text after the head between --- lines, which says name and
// version.
func cutHead(raw string) (head map[string]string, body string, err error) {
	raw = strings.ReplaceAll(raw, "\r\n", "\n")
	above, body, ok := strings.Cut(strings.TrimPrefix(raw, "---\n"), "\n---\n")
	if !ok {
		return nil, "", errors.New("the head (--- name, version ---) is missing")
	}
	head = map[string]string{}
	for line := range strings.Lines(above) {
		field, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if field != "name" && field != "version" {
			return nil, "", fmt.Errorf("unknown field %q in its head; it has name and version", field)
		}
		head[field] = strings.TrimSpace(value)
	}
	return head, body, nil
}

// Version returns the version and hash of a prompt in a language, as its runs
// record them.
func (s *Set) Version(name, language string) (version, sha256 string) {
	if t, ok := s.texts[name+"."+language]; ok {
		return t.version, t.sha256
	}
	return "", ""
}

// render fills a prompt's system part and encodes the user part, which is data,
// as one JSON object.
func (s *Set) render(name, language string, system, user any) (Rendered, error) {
	key := name + "." + language
	t, ok := s.texts[key]
	if !ok {
		return Rendered{}, fmt.Errorf("prompt %s: %w", key, reverie.ErrNotFound)
	}
	data, err := encode(user)
	if err != nil {
		return Rendered{}, fmt.Errorf("encode the data of prompt %s: %w", key, err)
	}
	r := Rendered{Name: key, Version: t.version, SHA256: t.sha256}
	if r.System, r.User, err = t.fill(system, data); err != nil {
		return Rendered{}, fmt.Errorf("render prompt %s: %w", key, err)
	}
	return r, nil
}

// encode writes a value as JSON on one line.
func encode(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // < as \u003c costs tokens, and a JSON string cannot be left anyway
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}
