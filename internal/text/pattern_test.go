package text_test

import (
	"testing"

	"reverie/internal/text"
)

func TestCompileAll(t *testing.T) {
	before := text.CompileAll()
	word := text.NewPattern(`\bword\b`)
	if n := text.CompileAll(); n != before+1 || !word.MatchString("a word") || word.MatchString("words") || word.String() != `\bword\b` {
		t.Errorf("%d expressions are known, and %s does not match as it should", n, word)
	}
	text.NewPattern(`(`) // which only its first use finds out
	defer func() {
		if recover() == nil {
			t.Error("a wrong expression was compiled")
		}
	}()
	text.CompileAll()
}
