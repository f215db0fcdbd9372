// Package history undoes runs, and answers what was remembered when, by whom and why.
//
// Undoing a run deletes nothing: it writes new versions. See [History.Undo].
package history

import "reverie/store/pg"

// History reads and undoes what was done to groups.
type History struct{ db *pg.DB }

// New returns the history of a database.
func New(db *pg.DB) *History { return &History{db} }
