// Package archive exports groups as records, and takes them back in.
package archive

import "reverie/store/pg"

// Archive reads and writes the records of groups.
type Archive struct{ db *pg.DB }

// New returns the archive of a database.
func New(db *pg.DB) *Archive { return &Archive{db} }
