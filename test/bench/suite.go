package main

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

//go:embed suite.toml parts/*.md
var files embed.FS

// suite is what suite.toml holds.
type suite struct {
	Parts   []part `toml:"part"`
	Compare []run  `toml:"compare"`
}

// part is a section of the page: what is run for it.
type part struct {
	Name  string `toml:"name"`
	Title string `toml:"title"`
	Large bool   `toml:"large"` // run only where it is asked for
	Runs  []run  `toml:"run"`
}

// run is one call of go test.
type run struct {
	Package string   `toml:"package"`
	Was     string   `toml:"was"` // the package's folder in older revisions
	Bench   string   `toml:"bench"`
	Time    string   `toml:"time"`  // -benchtime
	Short   string   `toml:"short"` // -bench of a sample
	Env     []string `toml:"env"`
}

func readSuite() (s suite, err error) {
	raw, err := files.ReadFile("suite.toml")
	if err == nil {
		err = toml.Unmarshal(raw, &s)
	}
	if err != nil {
		return s, fmt.Errorf("read suite.toml: %w", err)
	}
	return s, nil
}

// text says what the part measures, and what is asked of it.
func (p part) text() (string, error) {
	raw, err := files.ReadFile("parts/" + p.Name + ".md")
	return strings.TrimSpace(string(raw)), err
}

// command is the line that does a run by hand.
func (r run) command() string {
	words := append(slices.Clone(r.Env),
		fmt.Sprintf("go test -run '^$' -bench '%s' -benchtime %s -timeout 15m %s", r.Bench, r.Time, r.Package))
	return strings.Join(words, " ")
}

// choose finds the parts of a list of names, in the suite's order: all but the large ones
// where it is empty.
func (s suite) choose(list string) (chosen []part, err error) {
	var names, known []string
	for name := range strings.SplitSeq(list, ",") {
		names = append(names, strings.TrimSpace(name))
	}
	for _, p := range s.Parts {
		known = append(known, p.Name)
		if list == "" && !p.Large || slices.Contains(names, p.Name) {
			chosen = append(chosen, p)
		}
	}
	for _, name := range names {
		if list != "" && !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no part %q: write -only with some of %s", name, strings.Join(known, ","))
		}
	}
	return chosen, nil
}
