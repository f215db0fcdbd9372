package reverie

import "time"

// Evidence is the support of a version: a message, its author, and a quote. [VerifyQuote] has verified the quote.
// If the model cited the message without one, the quote is the beginning of the message.
type Evidence struct {
	MessageID string    `db:"message_id" json:"message_id"`
	AuthorID  string    `db:"author_id" json:"author_id,omitempty"`
	Author    string    `db:"author" json:"author"`
	Quote     string    `db:"quote" json:"quote"`
	SentAt    time.Time `db:"sent_at" json:"sent_at,omitzero"`
	// YYYY-MM-DD in the group's zone; strength counts distinct dates
	LocalDate string `db:"local_date" json:"local_date,omitempty"`
}

// NewestSent returns when the newest of the evidence was sent, the zero time for none.
func NewestSent(list []Evidence) (at time.Time) {
	for _, e := range list {
		if e.SentAt.After(at) {
			at = e.SentAt
		}
	}
	return at
}

// MaxQuote is the maximum number of characters of a stored quote.
const MaxQuote = 300

// Citation is evidence as the model claims it: the number of a message in the question, and words quoted from it,
// "" for none.
type Citation struct {
	Message string
	Quote   string
	Author  string // the name that the model saw; "" if the model was not asked for it
}

// FindingClass is the sort of a [ScanFinding].
type FindingClass string

// The classes of findings.
const (
	ClassSecret    FindingClass = "secret"    // see safety.FindSecrets
	ClassPII       FindingClass = "pii"       // see safety.FindPII
	ClassStatement FindingClass = "statement" // anything else that safety.CheckStatement refuses
)

// ScanFinding is a finding that may be shown to anybody: in errors, logs and reports. It holds the place and the
// rule, never the text that was found.
type ScanFinding struct {
	Where   string       `json:"where,omitempty"` // line:column of a file, or the caller's name for the place
	Class   FindingClass `json:"class"`
	Rule    string       `json:"rule"`
	Excerpt string       `json:"excerpt"` // a few words around it, with [secret:rule] instead of the text
}

// StoredText is a text of a group as the database holds it.
type StoredText struct {
	Table, Column string
	Key           string // key of its row, without the group's id
	Text          string
}

// Invariant is a condition that the database meets at every instant, also between the death of a process and the
// next run. It holds the result of an audit.
type Invariant struct {
	Name     string `json:"name"`
	Says     string `json:"says"`     // the condition, in one sentence
	Checked  int    `json:"checked"`  // rows that were checked
	Violated int    `json:"violated"` // rows that violate it
	// Violations are the first violating rows, by group. There are at most [MaxViolations], and [MaxGroupViolations] of
	// one group, so that one group does not hide the others.
	Violations []Violation `json:"violations"`
}

// Violation is one row that violates an invariant.
type Violation struct {
	GroupID string `json:"group_id"`
	What    string `json:"what"` // which row is wrong, and how
}

// MaxViolations is the maximum number of violations that an audit lists for one invariant; MaxGroupViolations is
// that of one group.
const (
	MaxViolations      = 200
	MaxGroupViolations = 10
)
