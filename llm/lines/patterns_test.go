package lines

import (
	"testing"

	"reverie/lazyregexp"
)

// TestPatterns compiles what is compiled when it is first used: none is wrong.
func TestPatterns(t *testing.T) {
	if lazyregexp.CompileAll() == 0 {
		t.Error("no expression is known")
	}
}
