package eval

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
)

// builtIn are scenarios of a few messages, for a first look at a model.
//
//go:embed scenarios/en-move-city scenarios/en-standup-nights scenarios/zh-badminton-joke
var builtIn embed.FS

// BuiltIn reads the scenarios that come with the program.
func BuiltIn() ([]*Scenario, error) {
	dir, err := os.MkdirTemp("", "reverie-scenarios-")
	if err != nil {
		return nil, fmt.Errorf("make room for the scenarios: %w", err)
	}
	defer os.RemoveAll(dir)
	files, err := fs.Sub(builtIn, "scenarios")
	if err == nil {
		err = os.CopyFS(dir, files)
	}
	if err != nil {
		return nil, fmt.Errorf("unpack the scenarios: %w", err)
	}
	return Load(dir, nil)
}
