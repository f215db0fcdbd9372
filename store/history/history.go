// Package history takes runs back, and tells what was when, by whom and why.
//
// What runs did is never deleted: taking them back writes new versions. See [History.Undo].
package history

import "reverie/store/pg"

// History reads and takes back what was done to groups.
type History struct{ db *pg.DB }

// New returns the history of a database.
func New(db *pg.DB) *History { return &History{db} }
