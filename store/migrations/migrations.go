// Package migrations has the migrations of the schema, and says which binaries work with them.
package migrations

import (
	"embed"
	"io/fs"
	"strconv"
	"strings"
)

//go:embed *.sql
var files embed.FS

// Files returns the migrations, named NNNNN_noun.sql.
func Files() fs.FS { return files }

// Newest returns the version of the last migration.
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
