// Package dataset plays public benchmarks of long conversations: a reader for each of their
// formats, the same nights as scenarios have, and what a search and a context give for the
// benchmark's questions, beside BM25 over the raw messages in as many tokens.
package dataset

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"reverie/internal/reverie"
)

// Conversation is one history, and what is asked at its end.
type Conversation struct {
	ID        string
	Messages  []reverie.Message
	Questions []Question
	AskedAt   time.Time // zero: at the end of its last night
}

// Question is what a benchmark asks.
type Question struct {
	ID       string
	Kind     string // as the benchmark names it
	Asker    string // "" = nobody in particular
	Text     string
	Gold     string
	Evidence []string // messages that the benchmark names
	Unknown  int      // names of evidence under which there is no message
	Abstain  bool     // the conversation does not answer it
}

// Query is what is looked up: who asks counts.
func (q Question) Query() string {
	if q.Asker == "" {
		return q.Text
	}
	return q.Asker + ": " + q.Text
}

// Format is a benchmark whose files can be read.
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

// Named is the format of a name.
func Named(name string) (Format, error) {
	var names []string
	for _, f := range formats {
		if names = append(names, f.Name); f.Name == name {
			return f, nil
		}
	}
	return Format{}, fmt.Errorf("--dataset %q: it is one of %s: %w", name, strings.Join(names, ", "), reverie.ErrInvalid)
}

// Read reads the conversations of a folder, or those whose ids match one of the patterns, the
// first few of them where limit is not 0. What is wrong is [reverie.ErrInvalid], with file and line.
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
