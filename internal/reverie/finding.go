package reverie

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
