package reverie

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// MessageChange is what became of a message after it was sent: any of a newer text,
// reactions, and that it was deleted.
type MessageChange struct {
	ID        string
	By        string  // if not "", it counts only for a message that is there, and is of this author
	Text      *string // nil: as it is
	Filter    Filter  // FilterCommand where that text is a command
	EditedAt  time.Time
	Deleted   bool
	Reactions []Reaction
}

// Reaction is that somebody has reacted to a message, or that so many have where nobody is
// named. A Count of 0 takes it back.
type Reaction struct {
	Emoji    string `json:"emoji"`
	AuthorID string `json:"author_id,omitempty"`
	Count    int    `json:"count"`
}

// Bounds of reactions.
const (
	MaxReactions = 1000 // of one message; of more, the last in order are dropped
	maxEmoji     = 100  // bytes
	maxReaction  = 1_000_000_000
)

// Normalize refuses what cannot be stored. Its errors are [ErrInvalid] and name the field.
func (c *MessageChange) Normalize() error {
	m := Message{ID: c.ID}
	if c.Text != nil {
		m.Text = *c.Text
	}
	if err := m.checkNames(); err != nil {
		return err
	}
	c.EditedAt = c.EditedAt.UTC().Truncate(time.Microsecond)
	switch {
	case c.ID == "":
		return fmt.Errorf("id is missing: %w", ErrInvalid)
	case c.Nothing():
		return fmt.Errorf("it changes nothing: give text with edited_at, deleted_at, or reactions: %w", ErrInvalid)
	case c.Text != nil && (c.EditedAt.Year() < 1970 || c.EditedAt.Year() > 9999):
		return fmt.Errorf("edited_at is missing or out of range: %w", ErrInvalid)
	case len(c.Reactions) > MaxReactions:
		return fmt.Errorf("reactions are more than %d: %w", MaxReactions, ErrInvalid)
	}
	for _, r := range c.Reactions {
		if err := r.check(); err != nil {
			return err
		}
	}
	return nil
}

// Nothing tells whether it changes nothing.
func (c MessageChange) Nothing() bool { return c.Text == nil && !c.Deleted && len(c.Reactions) == 0 }

func (r Reaction) check() error {
	for _, s := range []string{r.Emoji, r.AuthorID} {
		if strings.ContainsRune(s, 0) || !utf8.ValidString(s) {
			return fmt.Errorf("reactions: a NUL or invalid UTF-8: %w", ErrInvalid)
		}
	}
	switch {
	case r.Emoji == "" || len(r.Emoji) > maxEmoji:
		return fmt.Errorf("reactions: emoji is missing, or longer than %d bytes: %w", maxEmoji, ErrInvalid)
	case len(r.AuthorID) > MaxMessageIDLength:
		return fmt.Errorf("reactions: author_id is longer than %d bytes: %w", MaxMessageIDLength, ErrInvalid)
	case r.Count < 0 || r.Count > maxReaction:
		return fmt.Errorf("reactions: count %d is not one of 0 to %d: %w", r.Count, maxReaction, ErrInvalid)
	}
	return nil
}

// Merge takes in what another change of the message says: the newest text, each reaction as
// it was said last.
func (c MessageChange) Merge(o MessageChange) MessageChange {
	if o.Text != nil && (c.Text == nil || o.EditedAt.After(c.EditedAt)) {
		c.Text, c.Filter, c.EditedAt = o.Text, o.Filter, o.EditedAt
	}
	c.Deleted = c.Deleted || o.Deleted
	c.Reactions = MergeReactions(c.Reactions, o.Reactions)
	return c
}

// MergeReactions are reactions with others that came later, in order of emoji and author.
func MergeReactions(have, later []Reaction) []Reaction {
	all := slices.Concat(have, later)
	slices.Reverse(all)
	order := func(a, b Reaction) int {
		return cmp.Or(cmp.Compare(a.Emoji, b.Emoji), cmp.Compare(a.AuthorID, b.AuthorID))
	}
	slices.SortStableFunc(all, order)
	all = slices.CompactFunc(all, func(a, b Reaction) bool { return order(a, b) == 0 })
	return all[:min(len(all), MaxReactions)]
}

// Reacted are the reactions that were not taken back.
func Reacted(list []Reaction) []Reaction {
	return slices.DeleteFunc(slices.Clone(list), func(r Reaction) bool { return r.Count == 0 })
}

// StorableReactions are those that can be stored, in order of emoji and author.
func StorableReactions(list []Reaction) []Reaction {
	list = slices.DeleteFunc(slices.Clone(list), func(r Reaction) bool { return r.check() != nil })
	return MergeReactions(nil, list)
}

// CountReactions says how often each emoji was given.
func CountReactions(list []Reaction) map[string]int {
	var by map[string]int
	for _, r := range list {
		if by == nil {
			by = map[string]int{}
		}
		by[r.Emoji] += r.Count
	}
	return by
}

// ChangeResult counts what became of changes of messages.
type ChangeResult struct {
	Edited  int `json:"edited,omitempty"`  // have a newer text
	Deleted int `json:"deleted,omitempty"` // are gone, and do not come in again
	Reacted int `json:"reacted,omitempty"` // have other reactions
	Same    int `json:"same,omitempty"`    // stood so already, or the message is gone
	Waiting int `json:"waiting,omitempty"` // of these: done when the message has come, or the group's run has ended
}

// Add adds those of other changes.
func (r *ChangeResult) Add(o ChangeResult) {
	r.Edited, r.Deleted, r.Reacted = r.Edited+o.Edited, r.Deleted+o.Deleted, r.Reacted+o.Reacted
	r.Same, r.Waiting = r.Same+o.Same, r.Waiting+o.Waiting
}

// Taken is how many were new.
func (r ChangeResult) Taken() int { return r.Edited + r.Deleted + r.Reacted }
