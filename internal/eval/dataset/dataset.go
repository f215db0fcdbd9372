// Package dataset plays public benchmarks of long conversations. It has a reader for each of their formats, and
// plays nights as scenarios do. It measures what a search and a context return for the benchmark's questions,
// compared with BM25 over the raw messages in as many tokens.
package dataset

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"reverie/internal/reverie"
)

// Conversation is one history, with the questions asked at its end.
type Conversation struct {
	ID        string
	Messages  []reverie.Message
	Questions []Question
	AskedAt   time.Time // zero: at the end of its last night
}

// Question is a benchmark's question.
type Question struct {
	ID       string
	Kind     string // the benchmark's name for it
	Asker    string // "" = unknown
	Text     string
	Gold     string
	Evidence []string // ids of messages that the benchmark names
	Unknown  int      // number of named messages that do not exist
	Abstain  bool     // the conversation does not answer it
}

// Query returns the text to search for, including the asker.
func (q Question) Query() string {
	if q.Asker == "" {
		return q.Text
	}
	return q.Asker + ": " + q.Text
}

// Format is a supported benchmark.
type Format struct {
	Name string

	read  func(dir string) ([]Conversation, error)
	grade grade
}

// formats are the benchmarks.
var formats = []Format{
	{"groupmembench", readGroupMemBench, byJudge},
	{"locomo", readLoCoMo, byWordsAndJudge},
	{"longmemeval", readLongMemEval, byJudge},
	{"qmsum", readQMSum, byRouge},
}

// Named returns the format with a name.
func Named(name string) (Format, error) {
	var names []string
	for _, f := range formats {
		if names = append(names, f.Name); f.Name == name {
			return f, nil
		}
	}
	return Format{}, fmt.Errorf("--dataset %q: it is one of %s: %w", name, strings.Join(names, ", "), reverie.ErrInvalid)
}

// Read reads the conversations of a folder, optionally only those whose ids match one of the patterns, and at most
// limit, if that is not 0. Mistakes are [reverie.ErrInvalid], with file and line.
func (f Format) Read(dir string, only []string, limit int) ([]Conversation, error) {
	all, err := f.read(dir)
	if err != nil {
		return nil, err
	}
	var list []Conversation
	for _, c := range all {
		if len(only) == 0 || slices.ContainsFunc(only, func(p string) bool { ok, _ := path.Match(p, c.ID); return ok }) {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("--only %s: none of the %d conversations in %s is called so; the first is %q: %w",
			strings.Join(only, ","), len(all), dir, all[0].ID, reverie.ErrInvalid)
	}
	if limit > 0 && limit < len(list) {
		list = list[:limit]
	}
	return list, nil
}
