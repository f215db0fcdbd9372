// Package memories reads what other systems remember: the JSON that they export or that their
// APIs answer, or a list of statements as people copy it from a page. systems.toml says what
// a memory of each system looks like.
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
	Place     string // in the file, for people: "results 3"
	System    string // such as mem0; list of a list of statements
	ID        string // there; "" where it has none
	Statement string
	SaidAt    time.Time // zero where the export does not say
	Tags      []string
	Ends      time.Time // since when the other system says that it holds no more; zero where it does not
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

// patterns are where exports keep their objects: in an array of the document, or one or two keys down.
var patterns = []string{"[]", "*[]", "*.*[]"}

// Read tells the memories of a file in its order: of JSON, or of a list where the file may be one. A [*export.Bad] is
// of one part of the file, and the rest follows; any other error is the last.
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

// mark is what a line of a list may begin with.
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

// within tells the memories of a value, wherever they stand in it.
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

// of are the memories that an object is; nil where no system knows it.
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

// when is the time that a text is, or its date; what is neither is long ago.
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

// fits tells whether an object is a memory of the system.
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

// first is the text of the first field that has one.
func first(v map[string]any, fields ...string) string {
	for _, f := range fields {
		if s := plain(at(v, f)); s != "" {
			return s
		}
	}
	return ""
}

// at is the value of a path, nil where there is none.
func at(v map[string]any, field string) any {
	key, rest, deeper := strings.Cut(field, ".")
	if !deeper {
		return v[key]
	}
	inner, _ := v[key].(map[string]any)
	return at(inner, rest)
}

// plain is a value as text: a list's a line each, and "" of an object.
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

// ErrNone is said of a file in which no memory was found.
var ErrNone = fmt.Errorf("no memory was found in it; with --group, Reverie reads exports of mem0, Zep, Graphiti, Letta and "+
	"ChatGPT, and lists with a statement a line, in .txt or .md or from standard input; without, its own: %w", reverie.ErrInvalid)
