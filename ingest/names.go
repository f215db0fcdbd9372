package ingest

import (
	"fmt"
	"path"
	"strings"
)

// maxFiles is how many files of an archive are known at most.
const maxFiles = 1 << 20

// apart gives each file of an archive a name that no other file or folder there has: an
// archive may hold several of one name, and they are not the same. Names are as they are
// cleaned for opening; the second gets a number.
func apart(names []string) []string {
	taken := map[string]bool{}
	for _, name := range names {
		for dir := path.Dir(name); dir != "." && !taken[dir]; dir = path.Dir(dir) {
			taken[dir] = true
		}
	}
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = name
		for n := 2; taken[out[i]]; n++ {
			ending := path.Ext(name)
			out[i] = fmt.Sprintf("%s (%d)%s", strings.TrimSuffix(name, ending), n, ending)
		}
		taken[out[i]] = true
	}
	return out
}

// cleanName is the path of a file of an archive within it: one that leads out of it ends at
// its top.
func cleanName(name string) string {
	name = path.Clean("/" + strings.ReplaceAll(readableName(name), `\`, "/"))
	return strings.TrimPrefix(name, "/")
}
