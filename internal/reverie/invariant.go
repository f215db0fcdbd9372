package reverie

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
