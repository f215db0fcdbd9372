package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// moved are the figures that differ from those of before by more than noise.
func moved(before, now []measured) (t table) {
	t.head = []string{"part", "what", "unit", "was", "is", "change"}
	for _, m := range now {
		old, _ := document{before}.part(m.Part)
		for _, r := range m.Results {
			i := slices.IndexFunc(old.Results, func(o result) bool { return o.Package == r.Package && o.Name == r.Name })
			if i < 0 {
				t.rows = append(t.rows, []string{m.Part, r.Name, "", "-", "new", ""})
				continue
			}
			for _, v := range r.Values {
				was, known := old.Results[i].value(v.Unit)
				if !known || !slices.Contains(shown(r), v.Unit) || within(was, v.Value, noise(v.Unit)) {
					continue
				}
				t.rows = append(t.rows, []string{m.Part, r.Name, v.Unit, figure(was), figure(v.Value), change(was, v.Value)})
			}
		}
		for _, o := range old.Results {
			if !slices.ContainsFunc(m.Results, func(r result) bool { return o.Package == r.Package && o.Name == r.Name }) {
				t.rows = append(t.rows, []string{m.Part, o.Name, "", "there", "gone", ""})
			}
		}
	}
	return t
}

// within tells whether two figures differ by no more than a share of the larger.
func within(a, b, share float64) bool {
	return math.Abs(a-b) <= share*max(math.Abs(a), math.Abs(b))
}

func change(was, is float64) string {
	if was == 0 {
		return "from nothing"
	}
	return fmt.Sprintf("%+.0f%%", 100*(is-was)/was)
}

// check says what has moved since the document was written, and fails where anything has.
func check(out io.Writer, file string, before document, now []measured) error {
	for _, m := range now {
		if _, ok := before.part(m.Part); !ok {
			return fmt.Errorf("%s has no figures of %s to check: write them with make bench BENCH=\"-only %s\"", file, m.Part, m.Part)
		}
	}
	t := moved(before.Parts, now)
	if len(t.rows) == 0 {
		fmt.Fprintln(out, "bench: nothing has moved beyond noise")
		return nil
	}
	var text strings.Builder
	t.write(&text)
	fmt.Fprint(out, text.String())
	return fmt.Errorf("%d figures are not those of %s: run it again on a quiet machine, and write them anew where they stay", len(t.rows), file)
}
