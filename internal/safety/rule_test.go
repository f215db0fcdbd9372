package safety

import (
	"testing"

	"reverie/internal/text"
)

// Every expression compiles: they are compiled when they are first used.
func TestExpressionsCompile(t *testing.T) {
	n := len(secrets().rules) + len(valueTests())
	for _, of := range rulesOf() {
		n += len(of.list)
	}
	if of := text.CompileAll(); n < 200 || of < n {
		t.Errorf("%d expressions were tried, and there are %d", of, n)
	}
}
