package rest

import (
	"slices"
	"testing"
)

// Validators are read as RFC 9110 has them; a weak one is no version to write on.
func TestEntityTags(t *testing.T) {
	for header, want := range map[string]struct {
		versions []string
		any, bad bool
	}{
		`*`:                      {any: true},
		`"a"`:                    {versions: []string{"a"}},
		`W/"a"`:                  {versions: []string{}},
		`"a", W/"b,c" ,,"d"`:     {versions: []string{"a", "d"}},
		`""`:                     {versions: []string{""}},
		`a`:                      {bad: true},
		`"a`:                     {bad: true},
		"\"\xff\x00\"":           {versions: []string{"\xff\x00"}},
		`"a",` + "\t" + `"b" , `: {versions: []string{"a", "b"}},
	} {
		m, err := (&teamPutInput{IfMatch: header}).match()
		if !slices.Equal(m.Versions, want.versions) || m.Any != want.any || (err != nil) != want.bad {
			t.Errorf("%q: %+v %v", header, m, err)
		}
	}
	for header, want := range map[string]bool{`"x"`: true, `W/"x"`: true, `"a", "x"`: true, `*`: true, `"a"`: false, `x`: false, ``: false} {
		if known(header, `"x"`) != want {
			t.Errorf("%q: known is %v", header, !want)
		}
	}
}
