package reverie

import "time"

// Account is somebody who has written in a group, as an erasure finds them.
type Account struct {
	GroupID  string   `db:"group_id" json:"group_id"`
	AuthorID string   `db:"author_id" json:"author_id"`
	Names    []string `json:"names"` // that they wrote under, sorted
	Messages int      `json:"messages"`
}

// EraseQuery says whom a group forgets.
type EraseQuery struct {
	GroupID   string
	AuthorID  string
	KeepNames []string // names that stay in the words of others
	DryRun    bool     // do it all, count, and take it back
}

// ErasureCounts say what an erasure did to a group, without a word of it.
type ErasureCounts struct {
	Deleted  map[string]int `json:"deleted"`  // rows, by table
	Changed  map[string]int `json:"changed"`  // rows in which something was taken out, by table
	Messages int            `json:"messages"` // of the author, and answers to them
	Erased   int            `json:"erased"`   // memories that are gone in all versions
	Held     int            `json:"held"`     // memories that wait to be judged again without the author
	Team     int            `json:"team"`     // of a team's memories, those that were made from such
	Searched int            `json:"searched"` // values that the final check has read
	Left     []ErasureLeft  `json:"left"`     // what stays on purpose
}

// ErasureLeft is something that an erasure leaves, and why.
type ErasureLeft struct {
	What string `json:"what"` // table.column, or a sort of thing
	Rows int    `json:"rows"`
	Why  string `json:"why"`
}

// Erasure is the receipt of one erasure in one group.
type Erasure struct {
	GroupID   string    `json:"group_id"`
	ID        string    `json:"erasure_id,omitempty"` // "" of a dry run, and where there was nothing
	DryRun    bool      `json:"dry_run,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	ErasureCounts
	// Names are what was looked for in the words of others. They are for the person who
	// asked, and are not stored.
	Names []string `json:"-"`
}

// Nothing tells that the author had left no trace.
func (c ErasureCounts) Nothing() bool { return len(c.Deleted) == 0 && len(c.Changed) == 0 }

// ForgetReply is the receipt of an erasure that a client has asked for.
type ForgetReply struct {
	Success bool `json:"success"`
	Erasure
}

// AuthorMemoriesReply is what a group remembers of and from one author.
type AuthorMemoriesReply struct {
	Success  bool         `json:"success"`
	GroupID  string       `json:"group_id"`
	AuthorID string       `json:"author_id"`
	Names    []string     `json:"names"`    // that they wrote under
	Messages int          `json:"messages"` // of theirs, that are stored
	Total    int          `json:"total"`    // of all pages
	Memories []Memory     `json:"memories"` // that rest on their words, or name them
	Entity   *EntityReply `json:"entity,omitempty"`
}
