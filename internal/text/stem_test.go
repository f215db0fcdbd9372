package text

import (
	"strings"
	"testing"
)

func TestStem(t *testing.T) {
	for _, words := range []string{"meeting meetings meet meets", "run runs running", "city cities", "moved moves moving move",
		"push pushes pushed", "class classes", "bus"} {
		list := strings.Fields(words)
		for _, w := range list {
			if Stem(w) != Stem(list[0]) {
				t.Errorf("%s becomes %s, %s becomes %s", list[0], Stem(list[0]), w, Stem(w))
			}
		}
	}
}
