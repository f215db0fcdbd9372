package house_test

import (
	"fmt"
	"os"
	"testing"
)

// TestMain goes to the module's root: the rules of the house are about the whole tree.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
