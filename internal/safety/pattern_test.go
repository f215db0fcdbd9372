package safety

import "testing"

// Every expression compiles: they are compiled when they are first used.
func TestExpressionsCompile(t *testing.T) {
	n := 0
	for _, table := range []*patterns{links(), markup(), instructions(), suspicious(), broken()} {
		for _, p := range table.list {
			p.re()
			n++
		}
	}
	for _, r := range secrets().rules {
		r.re()
		n++
	}
	for _, re := range []lazy{lengthHint, commonWord, aboutPasswords, callOrIndex, product, fileName, placeholderStart, placeholder} {
		re()
	}
	if n < 200 {
		t.Errorf("%d expressions were tried", n)
	}
}
