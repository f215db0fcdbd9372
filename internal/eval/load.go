package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/jobs"
)

// The files of a scenario.
const (
	scenarioFile = "scenario.toml"
	messagesFile = "messages.jsonl"
	memoriesFile = "memories.jsonl"
	answersFile  = "answers.jsonl"
)

// Load reads the scenarios of a folder, or those whose names match one of the patterns
// ("zh-*"). A folder that is a scenario itself is that one. What is wrong with any of
// them is told at once, each a [*Fault] with file, line and field.
func Load(dir string, names []string) ([]*Scenario, error) {
	if _, err := os.Stat(filepath.Join(dir, scenarioFile)); err == nil && len(names) == 0 {
		s, err := read(dir)
		return []*Scenario{s}, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the scenarios: %w: %w", err, reverie.ErrInvalid)
	}
	var list []*Scenario
	var wrong []error
	matched := make([]bool, len(names))
	for _, e := range entries {
		folder := filepath.Join(dir, e.Name())
		if _, err := os.Stat(filepath.Join(folder, scenarioFile)); err != nil {
			continue
		}
		wanted := len(names) == 0
		for i, name := range names {
			if ok, _ := path.Match(name, e.Name()); ok {
				wanted, matched[i] = true, true
			}
		}
		if !wanted {
			continue
		}
		s, err := read(folder)
		list, wrong = append(list, s), append(wrong, err)
	}
	if i := slices.Index(matched, false); i >= 0 {
		wrong = append(wrong, fmt.Errorf("no scenario in %s is called %q: %w", dir, names[i], reverie.ErrInvalid))
	}
	if len(list) == 0 && len(names) == 0 {
		wrong = append(wrong, fmt.Errorf("%s has no folder with a %s: %w", dir, scenarioFile, reverie.ErrInvalid))
	}
	return list, errors.Join(wrong...)
}

// read reads one scenario.
func read(dir string) (*Scenario, error) {
	s := &Scenario{Dir: dir, Name: filepath.Base(dir)}
	r := &reader{s: s, lines: map[string][]int{}, unread: map[string]bool{}}
	if abs, err := filepath.Abs(dir); err == nil { // of "." too
		s.Name = filepath.Base(abs)
	}
	r.readScenario()
	readLines(r, memoriesFile, false, func(_ int, m Memory) { s.Memories = append(s.Memories, m) })
	readLines(r, messagesFile, true, func(_ int, m reverie.Message) {
		m.GroupID = s.Name
		s.Messages = append(s.Messages, m)
	})
	readLines(r, answersFile, false, func(line int, a Answer) { a.line = line; s.Answers = append(s.Answers, a) })
	r.check()
	s.faulty = len(r.faults) > 0
	return s, errors.Join(r.faults...)
}

// reader reads one scenario and gathers what is wrong with it.
type reader struct {
	s      *Scenario
	lines  map[string][]int // of the records of the other files, by file
	unread map[string]bool  // files of which something could not be read: nobody knows what it would have said
	faults faults

	misnamed bool // a memory is named that is none
}

func (r *reader) file(name string) string { return filepath.Join(r.s.Dir, name) }

// open reads a file; nil: it is not there, and need not be.
func (r *reader) open(name string, required bool) []byte {
	raw, err := os.ReadFile(r.file(name))
	switch {
	case errors.Is(err, fs.ErrNotExist) && !required:
		return nil
	case err != nil:
		r.faults.add(r.file(name), 0, "", "%v", err)
		r.unread[name] = true
		return nil
	}
	return bytes.TrimPrefix(raw, []byte("\ufeff"))
}

// readScenario reads scenario.toml, in which nothing may stand that is not known.
func (r *reader) readScenario() {
	raw := r.open(scenarioFile, true)
	r.s.source = strings.Split(string(raw), "\n")
	d := toml.NewDecoder(bytes.NewReader(raw)).DisallowUnknownFields()
	err := d.Decode(r.s)
	var unknown *toml.StrictMissingError
	var broken *toml.DecodeError
	switch {
	case errors.As(err, &unknown):
		for _, e := range unknown.Errors {
			line, _ := e.Position()
			r.faults.add(r.file(scenarioFile), line, strings.Join(e.Key(), "."), "there is no such field")
		}
	case errors.As(err, &broken):
		line, _ := broken.Position()
		r.faults.add(r.file(scenarioFile), line, strings.Join(broken.Key(), "."), "%s", strings.TrimPrefix(broken.Error(), "toml: "))
	case err != nil:
		r.faults.add(r.file(scenarioFile), 0, "", "%v", err)
	}
	r.unread[scenarioFile] = r.unread[scenarioFile] || err != nil && unknown == nil
}

// readLines reads a file of JSON Lines, in which nothing may stand that is not known.
func readLines[T any](r *reader, name string, required bool, each func(line int, record T)) {
	line := 0
	for text := range bytes.Lines(r.open(name, required)) {
		line++
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		var record T
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err := d.Decode(&record)
		if err == nil && d.InputOffset() < int64(len(text)) {
			err = errors.New("there is more on the line than one object")
		}
		if err != nil {
			r.faults.add(r.file(name), line, "", "%s", strings.TrimPrefix(err.Error(), "json: "))
			r.unread[name] = true
			continue
		}
		r.lines[name] = append(r.lines[name], line)
		each(line, record)
	}
}

// at is the line of a key in the nth table of a name, or of the table itself; for no
// table, of a key before the first one.
func (r *reader) at(table string, n int, key string) int {
	header, in := 0, table == ""
	for i, l := range r.s.source {
		l = strings.TrimSpace(l)
		if strings.HasPrefix(l, "[") && strings.Contains(l, "]") && tableHeader.MatchString(l) {
			if in {
				break
			}
			if strings.HasPrefix(l, "[["+table+"]]") {
				if n == 0 {
					header, in = i+1, true
				}
				n--
			}
			continue
		}
		if before, _, ok := strings.Cut(l, "="); in && ok && strings.TrimSpace(before) == key {
			return i + 1
		}
	}
	return header
}

var tableHeader = text.NewPattern(`^\[+[a-z]+\]+`)

// nights are the windows of the local dates that have messages.
func nights(s *Scenario) ([]reverie.Window, error) {
	c, err := jobs.CalendarOf(reverie.Group{ID: s.Name, TimeZone: s.TimeZone})
	if err != nil {
		return nil, err
	}
	var list []reverie.Window
	for _, m := range s.Messages {
		if w := c.Containing(m.SentAt); len(list) == 0 || list[len(list)-1].Date != w.Date {
			list = append(list, w)
		}
	}
	return list, nil
}

// Fault is one thing that is wrong with a scenario, and where it stands. It is a
// reverie.ErrInvalid.
type Fault struct {
	File    string `json:"file,omitempty"`  // "" = of no file
	Line    int    `json:"line,omitempty"`  // 0: of the file as a whole
	Field   string `json:"field,omitempty"` // "" = the line as a whole
	Problem string `json:"problem"`
}

func (f *Fault) Error() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d", f.Line)
	}
	if f.Field != "" {
		b.WriteString(": " + f.Field)
	}
	return b.String() + ": " + f.Problem
}

// Is makes errors.Is(err, reverie.ErrInvalid) true.
func (f *Fault) Is(target error) bool { return target == reverie.ErrInvalid }

// Faults takes apart what Load and CheckAnswers return: one fault for each thing that is
// wrong, in their order.
func Faults(err error) (list []*Fault) {
	if err == nil {
		return nil
	}
	if fault, ok := err.(*Fault); ok {
		return []*Fault{fault}
	}
	joined, several := err.(interface{ Unwrap() []error })
	if one := (*Fault)(nil); !several || !errors.As(err, &one) {
		return []*Fault{{Problem: err.Error()}} // of no scenario
	}
	for _, e := range joined.Unwrap() {
		list = append(list, Faults(e)...)
	}
	return list
}

// faults gathers what is wrong, so that all of it is told at once.
type faults []error

func (f *faults) add(file string, line int, field, format string, args ...any) {
	*f = append(*f, &Fault{File: file, Line: line, Field: field, Problem: fmt.Sprintf(format, args...)})
}

// check adds a fault unless something is so.
func (f *faults) check(ok bool, file string, line int, field, format string, args ...any) {
	if !ok {
		f.add(file, line, field, format, args...)
	}
}
