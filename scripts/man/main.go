// Command man writes the man pages of all commands into a folder, as packages install them.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"reverie/cmd/reverie/command"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./scripts/man DIR")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "man:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root := command.Root()
	root.DisableAutoGenTag = true
	verbatim(root)
	// The date is that of SOURCE_DATE_EPOCH, or today's.
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "Reverie", Manual: "Reverie"}, dir)
}

// verbatim marks what help indents as text that a page must not flow together.
func verbatim(cmd *cobra.Command) {
	var long strings.Builder
	indented := false
	for line := range strings.Lines(cmd.Long) {
		was := indented
		if indented = strings.HasPrefix(line, "  "); indented {
			if !was {
				long.WriteByte('\n')
			}
			line = "    " + line
		}
		long.WriteString(line)
	}
	cmd.Long = long.String()
	for _, sub := range cmd.Commands() {
		verbatim(sub)
	}
}
