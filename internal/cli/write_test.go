package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Where no file can be made, the error says where one can, and what needs none.
func TestWriteWholeWhereNothingCanBeWritten(t *testing.T) {
	places := map[string]string{"no such folder": filepath.Join(t.TempDir(), "gone", "x.jsonl")}
	if _, err := os.Stat("/proc/self"); err == nil {
		places["nobody may write"] = "/proc/x.jsonl"
	}
	for name, place := range places {
		err := WriteWhole(place, func(io.Writer) error { t.Error("something was written"); return nil })
		if err == nil || !strings.Contains(err.Error(), os.TempDir()) || !strings.Contains(err.Error(), "/dev/stdout") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
