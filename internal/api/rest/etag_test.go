package rest

import "testing"

// Validators are read as RFC 9110 has them, and what is none is said to be.
func TestEntityTags(t *testing.T) {
	for header, want := range map[string]struct {
		tags string // each with a stroke behind it
		star bool
		bad  bool
	}{
		``:                       {},
		`*`:                      {star: true},
		` * `:                    {star: true},
		`"a"`:                    {tags: `a|`},
		`W/"a"`:                  {tags: `~a|`},
		`"a", W/"b,c" ,,"d"`:     {tags: `a|~b,c|d|`},
		`""`:                     {tags: `|`},
		`a`:                      {bad: true},
		`"a`:                     {bad: true},
		`"a" "b"`:                {tags: "", bad: true},
		`"a", *`:                 {bad: true},
		`w/"a"`:                  {bad: true},
		"\"\xff\x00\"":           {tags: "\xff\x00|"},
		`"a",` + "\t" + `"b" , `: {tags: `a|b|`},
	} {
		list, star, err := entityTags(header)
		got := ""
		for _, tag := range list {
			if tag.weak {
				got += "~"
			}
			got += tag.opaque + "|"
		}
		if got != want.tags || star != want.star || (err != nil) != want.bad {
			t.Errorf("%q: %q %v %v", header, got, star, err)
		}
	}
	for header, want := range map[string]bool{`"x"`: true, `W/"x"`: true, `"a", "x"`: true, `*`: true, `"a"`: false, `x`: false, ``: false} {
		if fresh(header, `"x"`) != want {
			t.Errorf("%q: fresh is %v", header, !want)
		}
	}
}
