package lazyregexp_test

import (
	"testing"

	"reverie/internal/lazyregexp"
)

func TestCompileAll(t *testing.T) {
	word := lazyregexp.New(`\bword\b`)
	if n := lazyregexp.CompileAll(); n != 1 || !word.MatchString("a word") || word.MatchString("words") || word.String() != `\bword\b` {
		t.Errorf("%d expressions are known, and %s does not match as it should", n, word)
	}
	lazyregexp.New(`(`) // which only its first use finds out
	defer func() {
		if recover() == nil {
			t.Error("a wrong expression was compiled")
		}
	}()
	lazyregexp.CompileAll()
}
