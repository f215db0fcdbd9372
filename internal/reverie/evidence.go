package reverie

import "time"

// Evidence is what a version rests on: a message, its author, and the words in
// it. The quote has been verified by [VerifyQuote]; where the model cited a
// message without quoting it, the quote is the beginning of the message itself.
type Evidence struct {
	MessageID string    `db:"message_id" json:"message_id"`
	AuthorID  string    `db:"author_id" json:"author_id,omitempty"`
	Author    string    `db:"author" json:"author"`
	Quote     string    `db:"quote" json:"quote"`
	SentAt    time.Time `db:"sent_at" json:"sent_at,omitzero"`
	LocalDate string    `db:"local_date" json:"local_date,omitempty"` // YYYY-MM-DD in the group's zone; distinct dates make strength
}

// NewestSent is when the newest of some evidence was sent, the zero time where there is none.
func NewestSent(list []Evidence) (at time.Time) {
	for _, e := range list {
		if e.SentAt.After(at) {
			at = e.SentAt
		}
	}
	return at
}

// MaxQuote is how many characters of a quote are kept.
const MaxQuote = 300

// Citation is evidence as a model claims it: a message by its number in the
// question, and words that should stand in it, "" where none are quoted.
type Citation struct {
	Message string
	Quote   string
	Author  string // as the model saw the name; "" where it was not asked for
}

// FindingClass says what sort of thing a [ScanFinding] is about.
type FindingClass string

// The classes of findings.
const (
	ClassSecret    FindingClass = "secret"    // see safety.FindSecrets
	ClassPII       FindingClass = "pii"       // see safety.FindPII
	ClassStatement FindingClass = "statement" // what else safety.CheckStatement refuses
)

// ScanFinding is a finding as it may be told to anybody: in errors, problems, logs and
// reports. It says where it is and which rule found it, never what was found.
type ScanFinding struct {
	Where   string       `json:"where,omitempty"` // line:column of a file, or what the caller names it by
	Class   FindingClass `json:"class"`
	Rule    string       `json:"rule"`
	Excerpt string       `json:"excerpt"` // a few words around it, with [secret:rule] in its place
}

// StoredText is a text of a group as it stands in the database.
type StoredText struct {
	Table, Column string
	Key           string // of its row, the group's id left out
	Text          string
}

// Invariant is something that holds of a database at every instant, also between the
// death of a process and the next run, and what an audit found of it.
type Invariant struct {
	Name     string `json:"name"`
	Says     string `json:"says"`     // what holds, in a sentence
	Checked  int    `json:"checked"`  // rows that it was held against
	Violated int    `json:"violated"` // of those, how many do not keep to it
	// Violations are the first of these, by group: at most [MaxViolations], and of one group
	// [MaxGroupViolations], so that it does not hide the others.
	Violations []Violation `json:"violations"`
}

// Violation is one place where an invariant does not hold.
type Violation struct {
	GroupID string `json:"group_id"`
	What    string `json:"what"` // what is wrong with which row
}

// MaxViolations is how many violations of one invariant an audit tells of, and
// MaxGroupViolations how many of these are of one group.
const (
	MaxViolations      = 200
	MaxGroupViolations = 10
)
