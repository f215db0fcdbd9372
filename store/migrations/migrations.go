// Package migrations is the schema's steps, and what each says of the binaries that work with it.
package migrations

import (
	"embed"
	"io/fs"
	"strconv"
	"strings"
)

//go:embed *.sql
var files embed.FS

// Files are the steps, named NNNNN_noun.sql.
func Files() fs.FS { return files }

// Newest is the version of the last step.
func Newest(files fs.FS) int64 {
	names, err := fs.Glob(files, "*.sql") // in order
	if err != nil {
		panic(err) // the pattern is a constant
	}
	number, _, _ := strings.Cut(names[len(names)-1], "_")
	newest, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		panic(err) // the files are compiled in
	}
	return newest
}
