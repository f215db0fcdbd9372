package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"reverie/cmd/reverie/command"
)

// TestMan: each command that people see has a page, whose tables stand as help has them.
func TestMan(t *testing.T) {
	dir := t.TempDir()
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	pages := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		page, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(page), ".SH NAME") {
			t.Errorf("%s: %v\n%s", name, err, page)
		}
		pages++
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				walk(sub)
			}
		}
	}
	walk(command.Root())
	evolve, err := os.ReadFile(filepath.Join(dir, "reverie-evolve.1"))
	if err != nil || pages < 70 || !strings.Contains(string(evolve), ".EX\n") {
		t.Errorf("%d pages; that of evolve, %v:\n%s", pages, err, evolve)
	}
}
