package reverie

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// MessageChange is a change of a message after it was sent: a newer text, reactions, or its deletion.
type MessageChange struct {
	ID        string
	By        string  // if not "", the change applies only to a stored message of this author
	Text      *string // nil: unchanged
	Filter    Filter  // FilterCommand if the new text is a command
	EditedAt  time.Time
	Deleted   bool
	Reactions []Reaction
}

// Reaction is a reaction of one author to a message, or a number of reactions if no author is named. A Count of 0
// removes it.
type Reaction struct {
	Emoji    string `json:"emoji"`
	AuthorID string `json:"author_id,omitempty"`
	Count    int    `json:"count"`
}

// Bounds of reactions.
const (
	MaxReactions = 1000 // of one message; the last in order are dropped
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

// Nothing reports whether the change is empty.
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

// Merge combines the change with another one of the same message: the newest text, and the latest state of each
// reaction.
func (c MessageChange) Merge(o MessageChange) MessageChange {
	if o.Text != nil && (c.Text == nil || o.EditedAt.After(c.EditedAt)) {
		c.Text, c.Filter, c.EditedAt = o.Text, o.Filter, o.EditedAt
	}
	c.Deleted = c.Deleted || o.Deleted
	c.Reactions = MergeReactions(c.Reactions, o.Reactions)
	return c
}

// MergeReactions merges later reactions into earlier ones, sorted by emoji and author.
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

// Reacted returns the reactions that were not removed.
func Reacted(list []Reaction) []Reaction {
	return slices.DeleteFunc(slices.Clone(list), func(r Reaction) bool { return r.Count == 0 })
}

// StorableReactions returns the reactions that can be stored, sorted by emoji and author.
func StorableReactions(list []Reaction) []Reaction {
	list = slices.DeleteFunc(slices.Clone(list), func(r Reaction) bool { return r.check() != nil })
	return MergeReactions(nil, list)
}

// CountReactions counts reactions by emoji.
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

// ChangeResult counts changes of messages by their effect.
type ChangeResult struct {
	Edited  int `json:"edited,omitempty"`  // got a newer text
	Deleted int `json:"deleted,omitempty"` // were deleted, and are not imported again
	Reacted int `json:"reacted,omitempty"` // got other reactions
	Same    int `json:"same,omitempty"`    // nothing to change, or the message was deleted
	// Of these: applied later, when the message has arrived or the group's run has ended.
	Waiting int `json:"waiting,omitempty"`
}

// Add adds the counts of another result.
func (r *ChangeResult) Add(o ChangeResult) {
	r.Edited, r.Deleted, r.Reacted = r.Edited+o.Edited, r.Deleted+o.Deleted, r.Reacted+o.Reacted
	r.Same, r.Waiting = r.Same+o.Same, r.Waiting+o.Waiting
}

// Taken returns the number of changes that had an effect.
func (r ChangeResult) Taken() int { return r.Edited + r.Deleted + r.Reacted }
