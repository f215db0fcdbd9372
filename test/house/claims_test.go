package house_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pages are what people read, and where claims stand with the commands that show them.
func pages(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{"README.md", "CONTRIBUTING.md"}, docs...)
}

var (
	fenced   = regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```")
	inline   = regexp.MustCompile("`([^`\n]+)`")
	goTest   = regexp.MustCompile(`\bgo test ([^\n#]+)`)
	making   = regexp.MustCompile(`^make ([a-z][a-z-]*)`)
	targets  = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
	word     = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)[A-Z][A-Za-z0-9]*)\(`)
	named    = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark|Example)[A-Z][A-Za-z0-9]*\b`)
)

// code returns the commands that a page shows: lines of its blocks, and spans of its text.
func code(page string) (lines []string) {
	for _, block := range fenced.FindAllStringSubmatch(page, -1) {
		lines = append(lines, strings.Split(block[1], "\n")...)
	}
	for _, span := range inline.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		lines = append(lines, strings.ReplaceAll(span[1], `\|`, "|")) // as it stands in a table
	}
	return lines
}

// TestCommandsOfThePages: each go test that a page shows selects something in its
// package, each test that it names is there, and so is each target of make.
func TestCommandsOfThePages(t *testing.T) {
	funcs := map[string][]string{} // by package: ".", "./evolve"
	var all []string
	eachGoFile(t, func(path string, text []byte) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		dir := "./" + filepath.ToSlash(filepath.Dir(path))
		if dir == "./." {
			dir = "."
		}
		for _, f := range testFunc.FindAllSubmatch(text, -1) {
			funcs[dir], all = append(funcs[dir], string(f[1])), append(all, string(f[1]))
		}
	})
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var made []string
	for _, target := range targets.FindAllStringSubmatch(string(makefile), -1) {
		made = append(made, target[1])
	}
	commands := 0
	for _, name := range pages(t) {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range code(string(page)) {
			if target := making.FindStringSubmatch(strings.TrimSpace(line)); target != nil && !slices.Contains(made, target[1]) {
				t.Errorf("%s: make has no target %q", name, target[1])
			}
			if target := making.FindStringSubmatch(strings.TrimSpace(line)); target != nil && strings.Contains(line, "PKG=") && !reads(string(makefile), target[1], "$(PKG)") {
				t.Errorf("%s: make %s does not read PKG", name, target[1])
			}
			if command := goTest.FindStringSubmatch(line); command != nil {
				commands++
				for _, problem := range selectsNothing(command[1], funcs) {
					t.Errorf("%s: go test %s: %s", name, command[1], problem)
				}
			}
		}
		for _, test := range named.FindAllString(string(page), -1) {
			if !slices.ContainsFunc(all, func(f string) bool { return strings.HasPrefix(f, test) }) {
				t.Errorf("%s: there is no %s", name, test)
			}
		}
	}
	if commands < 20 {
		t.Errorf("only %d commands were found", commands)
	}
}

// reads tells whether a target's recipe uses a variable.
func reads(makefile, target, variable string) bool {
	_, recipe, _ := strings.Cut(makefile, "\n"+target+":")
	recipe, _, _ = strings.Cut(recipe, "\n\n")
	return strings.Contains(recipe, variable)
}

// TestClaimsAreShown: the table of claims names none without a command.
func TestClaimsAreShown(t *testing.T) {
	page, err := os.ReadFile("docs/claims.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.SplitSeq(string(page), "\n") {
		if cells := strings.Split(strings.ReplaceAll(line, `\|`, ""), "|"); len(cells) == 4 && !strings.HasPrefix(line, "| ---") && !strings.HasPrefix(line, "| claim |") {
			if rows++; !strings.HasPrefix(strings.TrimSpace(cells[2]), "`go test ") && !strings.HasPrefix(strings.TrimSpace(cells[2]), "`make ") {
				t.Errorf("no command shows that %s", cells[1])
			}
		}
	}
	if rows < 30 {
		t.Errorf("only %d claims were found", rows)
	}
}

// TestSelectsNothing: what selects nothing is found in each form of a command.
func TestSelectsNothing(t *testing.T) {
	funcs := map[string][]string{".": {"TestFold"}, "./store": {"TestLease", "BenchmarkImport"}, "./cmd/reverie": {"TestTorture"}}
	for command, want := range map[string]bool{
		"-run TestFold .": false, "-run=TestFold .": false, "-run=TestNone .": true, "-run 'TestFold|TestNone' .": true, "-bench=Import ./store": false, "-bench=Export ./store": true,
		"./nowhere": true, "-run TestFold ./...": false, "-run TestTorture ./cmd/reverie": true, "-tags torture -run TestTorture/leases ./cmd/reverie": false,
	} {
		if got := selectsNothing(command, funcs); (got != nil) != want {
			t.Errorf("go test %s: %q", command, got)
		}
	}
}

// selectsNothing says which patterns of a go test command select nothing in which of its
// packages. Of alternatives each must select something somewhere.
func selectsNothing(command string, funcs map[string][]string) (problems []string) {
	patterns := map[string]string{}
	var packages []string
	words := word.FindAllString(command, -1)
	for i, w := range words {
		if flag, pattern, ok := strings.Cut(w, "="); ok && (flag == "-run" || flag == "-bench" || flag == "-fuzz") {
			patterns[flag] = strings.Trim(pattern, `'"`)
		}
		switch {
		case (w == "-run" || w == "-bench" || w == "-fuzz") && i+1 < len(words):
			patterns[w] = strings.Trim(words[i+1], `'"`)
		case w == "." || strings.HasPrefix(w, "./"):
			packages = append(packages, w)
		}
	}
	for _, pkg := range packages {
		if len(inPackage(strings.TrimSuffix(pkg, "/"), funcs)) == 0 && patterns["-run"] != "NAME" {
			problems = append(problems, "there are no tests in "+pkg)
		}
	}
	for _, tagged := range []string{"TestTorture"} { // it stands in files of the tag alone
		if strings.Contains(patterns["-run"], tagged) && !slices.Contains(words, "torture") && !slices.Contains(words, "-tags=torture") {
			problems = append(problems, tagged+" needs -tags torture")
		}
	}
	if problems != nil {
		return problems
	}
	if len(patterns) == 0 || len(packages) == 0 || patterns["-run"] == "NAME" {
		return nil // it runs all there is, or shows the form of a command
	}
	kinds := map[string]string{"-run": "^(Test|Fuzz|Example)", "-bench": "^Benchmark", "-fuzz": "^Fuzz"}
	for flag, pattern := range patterns {
		if flag == "-run" && (pattern == "^$" || pattern == "xxx") {
			continue // on purpose
		}
		kind := regexp.MustCompile(kinds[flag])
		for _, one := range strings.Split(pattern, "|") {
			first, _, _ := strings.Cut(one, "/") // what comes behind selects subtests
			selects, err := regexp.Compile(strings.Trim(first, "()"))
			if err != nil {
				return append(problems, err.Error())
			}
			if !slices.ContainsFunc(packages, func(pkg string) bool {
				return slices.ContainsFunc(inPackage(pkg, funcs), func(f string) bool { return kind.MatchString(f) && selects.MatchString(f) })
			}) {
				problems = append(problems, flag+" "+one+" selects nothing")
			}
		}
	}
	return problems
}

// inPackage are the functions of a package, or of all below it.
func inPackage(pkg string, funcs map[string][]string) (list []string) {
	prefix, all := strings.CutSuffix(pkg, "/...")
	for dir, names := range funcs {
		if dir == pkg || all && (prefix == "." || dir == prefix || strings.HasPrefix(dir, prefix+"/")) {
			list = append(list, names...)
		}
	}
	return list
}
