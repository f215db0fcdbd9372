// Package memories reads the memories of other systems: the JSON of their exports or APIs, or a list of statements
// copied from a page. systems.toml describes the memories of each system.
package memories

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Memory is a statement of another system.
type Memory struct {
	Place     string // place in the file, for people: "results 3"
	System    string // such as mem0; "list" for a list of statements
	ID        string // id in that system; "" if none
	Statement string
	SaidAt    time.Time // zero if the export does not say
	Tags      []string
	Ends      time.Time // when the statement became invalid, as the other system says; zero if it did not
}

// listed is the system of a list of statements.
const listed = "list"

type system struct {
	Name                                string
	Statement, Said, Ended, About, Tags []string
	Where, Unless                       map[string]string
}

//go:embed systems.toml
var systemsFile string

var systems = text.ReadTOML[struct{ System []system }](systemsFile).System

// patterns are the paths of objects in exports: in an array of the document, or one or two keys deeper.
var patterns = []string{"[]", "*[]", "*.*[]"}

// Read yields the memories of a file in order: JSON, or a list if list is set. A [*export.Bad] is one bad part, and
// more may follow. Any other error is the last element.
func Read(r io.Reader, list bool) iter.Seq2[Memory, error] {
	plain, head, err := export.Decode(r)
	if err != nil {
		return func(yield func(Memory, error) bool) { yield(Memory{}, err) }
	}
	head = bytes.TrimSpace(head)
	first, more, _ := bytes.Cut(head, []byte("\n"))
	switch {
	case !bytes.HasPrefix(head, []byte("{")) && !bytes.HasPrefix(head, []byte("[")):
		if !list || bytes.IndexByte(head, 0) >= 0 {
			return func(func(Memory, error) bool) {}
		}
		return fromLines(export.TextLines(plain))
	case json.Valid(first) && len(bytes.TrimSpace(more)) > 0:
		return fromJSON(export.JSONLines(plain))
	}
	return fromJSON(export.JSONParts(plain, patterns...))
}

// mark matches the marker of a list item.
var mark = text.NewPattern(`^(?:[-*+•·]|\d{1,4}[.)])\s+`)

func fromLines(parts export.Parts) iter.Seq2[Memory, error] {
	return func(yield func(Memory, error) bool) {
		for p, err := range parts {
			s := strings.TrimSpace(mark.ReplaceAllString(string(p.Value), ""))
			if (err != nil || s != "" && !strings.HasPrefix(s, "#")) && !yield(Memory{Place: p.Place, System: listed, Statement: s}, err) {
				return
			}
		}
	}
}

func fromJSON(parts export.Parts) iter.Seq2[Memory, error] {
	return func(yield func(Memory, error) bool) {
		for p, err := range parts {
			var value any
			if err == nil {
				err = p.Decode(&value, "no JSON")
			}
			if err != nil {
				var bad *export.Bad
				if !yield(Memory{Place: p.Place}, err) || !errors.As(err, &bad) {
					return
				}
				continue
			}
			if !within(p.Place, value, yield) {
				return
			}
		}
	}
}

// within yields the memories in a value, at any depth.
func within(place string, value any, yield func(Memory, error) bool) bool {
	switch v := value.(type) {
	case []any:
		for _, x := range v {
			if !within(place, x, yield) {
				return false
			}
		}
	case map[string]any:
		if list := of(v); list != nil {
			for _, m := range list {
				m.Place = place
				if !yield(m, nil) {
					return false
				}
			}
			return true
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if !within(place, v[key], yield) {
				return false
			}
		}
	}
	return true
}

// of returns the memories in an object; nil if it fits no system.
func of(v map[string]any) (list []Memory) {
	i := slices.IndexFunc(systems, func(s system) bool { return s.fits(v) })
	if i < 0 {
		return nil
	}
	s := systems[i]
	m := Memory{System: s.Name, ID: first(v, "id", "uuid")}
	for _, at := range slices.Backward(s.Said) {
		if said, ok := when(first(v, at)); ok {
			m.SaidAt = said
		}
	}
	for _, at := range s.Ended {
		value := first(v, at)
		if value == "" || value == "false" {
			continue
		}
		if ends, _ := when(value); m.Ends.IsZero() || ends.Before(m.Ends) {
			m.Ends = ends
		}
	}
	for _, field := range s.Tags {
		tags, _ := at(v, field).([]any)
		for _, t := range tags {
			m.Tags = append(m.Tags, plain(t))
		}
	}
	about := first(v, s.About...)
	for line := range strings.Lines(first(v, s.Statement...)) {
		one := m
		one.Statement = strings.TrimSpace(mark.ReplaceAllString(strings.TrimSpace(line), ""))
		if about != "" && !strings.Contains(strings.ToLower(one.Statement), strings.ToLower(about)) {
			one.Statement = about + ": " + one.Statement
		}
		if strings.TrimSpace(line) != "" {
			list = append(list, one)
		}
	}
	return list
}

// when parses a time or a date; ok is false for other texts.
func when(s string) (at time.Time, ok bool) {
	at, err := export.Time(s, time.UTC)
	if err != nil {
		at, err = time.Parse(time.DateOnly, s)
	}
	if err != nil {
		return time.Unix(0, 0), false
	}
	return at, true
}

// fits reports whether an object is a memory of the system.
func (s system) fits(v map[string]any) bool {
	for field, want := range s.Where {
		if value := first(v, field); value == "" || !matches(want, value) {
			return false
		}
	}
	for field, not := range s.Unless {
		if value := first(v, field); value != "" && matches(not, value) {
			return false
		}
	}
	return first(v, s.Statement...) != ""
}

func matches(pattern, value string) bool {
	ok, err := path.Match(pattern, strings.ReplaceAll(value, "/", "_"))
	return ok && err == nil
}

// first returns the text of the first non-empty field.
func first(v map[string]any, fields ...string) string {
	for _, f := range fields {
		if s := plain(at(v, f)); s != "" {
			return s
		}
	}
	return ""
}

// at returns the value at a path, nil if there is none.
func at(v map[string]any, field string) any {
	key, rest, deeper := strings.Cut(field, ".")
	if !deeper {
		return v[key]
	}
	inner, _ := v[key].(map[string]any)
	return at(inner, rest)
}

// plain returns a value as text: a list as lines, "" for an object.
func plain(value any) string {
	switch v := value.(type) {
	case string:
		return strings.TrimSpace(v)
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		lines := make([]string, len(v))
		for i, x := range v {
			lines[i] = plain(x)
		}
		return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == "" }), "\n")
	}
	return ""
}

// ErrNone is the error of a file without memories.
var ErrNone = fmt.Errorf("no memory was found in it; with --group, Reverie reads exports of mem0, Zep, Graphiti, Letta and "+
	"ChatGPT, and lists with a statement a line, in .txt or .md or from standard input; without, its own: %w", reverie.ErrInvalid)
