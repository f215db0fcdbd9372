package reverie

import "time"

// Account is an author of messages in a group, as an erasure finds it.
type Account struct {
	GroupID  string   `db:"group_id" json:"group_id"`
	AuthorID string   `db:"author_id" json:"author_id"`
	Names    []string `json:"names"` // the author's names in messages, sorted
	Messages int      `json:"messages"`
}

// EraseQuery names the author to erase from a group.
type EraseQuery struct {
	GroupID   string
	AuthorID  string
	KeepNames []string // names to leave in the words of others
	DryRun    bool     // do everything, count it, and roll it back
}

// ErasureCounts is the result of an erasure, without any of the erased words.
type ErasureCounts struct {
	Deleted  map[string]int `json:"deleted"`  // rows, by table
	Changed  map[string]int `json:"changed"`  // rows from which something was removed, by table
	Messages int            `json:"messages"` // messages of the author, and replies to them
	Erased   int            `json:"erased"`   // memories erased in all versions
	Held     int            `json:"held"`     // memories held until they are judged again without the author
	Team     int            `json:"team"`     // team memories made from erased or held ones
	Searched int            `json:"searched"` // values that the final check read
	Left     []ErasureLeft  `json:"left"`     // what stays on purpose
}

// ErasureLeft is something that an erasure keeps, and why.
type ErasureLeft struct {
	What string `json:"what"` // table.column, or a kind of data
	Rows int    `json:"rows"`
	Why  string `json:"why"`
}

// Erasure is the receipt of one erasure in one group.
type Erasure struct {
	GroupID   string    `json:"group_id"`
	ID        string    `json:"erasure_id,omitempty"` // "" for a dry run, or if there was nothing to erase
	DryRun    bool      `json:"dry_run,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	ErasureCounts
	// Names are the names that were searched for in the words of others. They are for the person who asked, and are not
	// stored.
	Names []string `json:"-"`
}

// Nothing reports whether the erasure found no trace of the author.
func (c ErasureCounts) Nothing() bool { return len(c.Deleted) == 0 && len(c.Changed) == 0 }

// ForgetReply is the receipt of an erasure that a client asked for.
type ForgetReply struct {
	Success bool `json:"success"`
	Erasure
}

// AuthorMemoriesReply lists what a group remembers of one author's words and about that author.
type AuthorMemoriesReply struct {
	Success  bool         `json:"success"`
	GroupID  string       `json:"group_id"`
	AuthorID string       `json:"author_id"`
	Names    []string     `json:"names"`    // the author's names in messages, sorted
	Messages int          `json:"messages"` // the author's stored messages
	Total    int          `json:"total"`    // on all pages together
	Memories []Memory     `json:"memories"` // memories that rest on the author's words or name the author
	Entity   *EntityReply `json:"entity,omitempty"`
}
