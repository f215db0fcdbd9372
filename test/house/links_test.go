package house_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	unslug  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinksOfThePages: each link from a page into the tree leads to a file, and its anchor to a
// heading of that file.
func TestLinksOfThePages(t *testing.T) {
	links := 0
	for _, name := range append(pages(t), "CHANGELOG.md", "internal/eval/scenarios/README.md") {
		for _, to := range link.FindAllStringSubmatch(prose(t, name), -1) {
			file, anchor, _ := strings.Cut(to[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			links++
			target := name
			if file != "" {
				target = filepath.Join(filepath.Dir(name), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", name, to[1])
			} else if anchor != "" && !slices.Contains(anchors(t, target), anchor) {
				t.Errorf("%s links to %s, and %s has no such heading", name, to[1], target)
			}
		}
	}
	if links < 30 {
		t.Errorf("only %d links were found", links)
	}
}

// prose is a page without its blocks of code.
func prose(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return fenced.ReplaceAllString(string(page), "")
}

// anchors are the headings of a page as links name them.
func anchors(t *testing.T, name string) (list []string) {
	t.Helper()
	for _, h := range heading.FindAllStringSubmatch(prose(t, name), -1) {
		list = append(list, strings.ReplaceAll(unslug.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-"))
	}
	return list
}
