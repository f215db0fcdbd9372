package eval

import (
	"bytes"
	"embed"
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
// them is told at once, a line each, with the file; it is [reverie.ErrInvalid].
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

// read reads one scenario. What its files say is only looked at where all of them can be read.
func read(dir string) (*Scenario, error) {
	s := &Scenario{Dir: dir, Name: filepath.Base(dir)}
	if abs, err := filepath.Abs(dir); err == nil { // of "." too
		s.Name = filepath.Base(abs)
	}
	wrong := []error{s.readFacts()}
	var err error
	s.Memories, err = readLines[Memory](s, memoriesFile, false)
	wrong = append(wrong, err)
	s.Messages, err = readLines[reverie.Message](s, messagesFile, true)
	wrong = append(wrong, err)
	s.Answers, err = readLines[Answer](s, answersFile, false)
	wrong = append(wrong, err)
	if err := errors.Join(wrong...); err != nil {
		return s, err
	}
	return s, s.check()
}

// wrong is what is wrong with a file of the scenario, or with a line of it; 0 is no line.
func (s *Scenario) wrong(file string, line int, format string, args ...any) error {
	at := filepath.Join(s.Dir, file)
	if line > 0 {
		at = fmt.Sprintf("%s:%d", at, line)
	}
	return fmt.Errorf("%s: %s: %w", at, fmt.Sprintf(format, args...), reverie.ErrInvalid)
}

// open reads a file; nil: it is not there, and need not be.
func (s *Scenario) open(name string, required bool) ([]byte, error) {
	raw, err := os.ReadFile(filepath.Join(s.Dir, name))
	switch {
	case errors.Is(err, fs.ErrNotExist) && !required:
		return nil, nil
	case err != nil:
		return nil, s.wrong(name, 0, "%v", err)
	}
	return bytes.TrimPrefix(raw, []byte("\ufeff")), nil
}

// readFacts reads scenario.toml, in which nothing may stand that is not known.
func (s *Scenario) readFacts() error {
	raw, err := s.open(scenarioFile, true)
	if err != nil {
		return err
	}
	err = toml.NewDecoder(bytes.NewReader(raw)).DisallowUnknownFields().Decode(s)
	var unknown *toml.StrictMissingError
	var broken *toml.DecodeError
	switch {
	case errors.As(err, &unknown):
		line, _ := unknown.Errors[0].Position()
		return s.wrong(scenarioFile, line, "%s: there is no such field", strings.Join(unknown.Errors[0].Key(), "."))
	case errors.As(err, &broken):
		line, _ := broken.Position()
		return s.wrong(scenarioFile, line, "%s", strings.TrimPrefix(broken.Error(), "toml: "))
	case err != nil:
		return s.wrong(scenarioFile, 0, "%v", err)
	}
	return nil
}

// readLines reads a file of JSON Lines, in which nothing may stand that is not known.
func readLines[T any](s *Scenario, name string, required bool) (list []T, err error) {
	raw, err := s.open(name, required)
	if err != nil {
		return nil, err
	}
	line := 0
	for text := range bytes.Lines(raw) {
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
			return nil, s.wrong(name, line, "%s", strings.TrimPrefix(err.Error(), "json: "))
		}
		list = append(list, record)
	}
	return list, nil
}

// Nights are the windows of the local dates on which the scenario's messages were sent.
func Nights(s *Scenario) ([]reverie.Window, error) {
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

// builtIn are scenarios of a few messages, for a first look at a model.
//
//go:embed scenarios/en-move-city scenarios/en-standup-nights scenarios/zh-badminton-joke
var builtIn embed.FS

// BuiltIn reads the scenarios that come with the program.
func BuiltIn() ([]*Scenario, error) {
	dir, err := os.MkdirTemp("", "reverie-scenarios-")
	if err != nil {
		return nil, fmt.Errorf("make room for the scenarios: %w", err)
	}
	defer os.RemoveAll(dir)
	files, err := fs.Sub(builtIn, "scenarios")
	if err == nil {
		err = os.CopyFS(dir, files)
	}
	if err != nil {
		return nil, fmt.Errorf("unpack the scenarios: %w", err)
	}
	return Load(dir, nil)
}
