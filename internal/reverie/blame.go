package reverie

import "time"

// Blame says of a memory who wrote it: what stands behind each version, and which
// version brought each of its words.
type Blame struct {
	Memory   Memory         `json:"memory"`   // the version whose words they are: the newest
	Words    []BlameWords   `json:"words"`    // its statement, in pieces
	Versions []BlameVersion `json:"versions"` // oldest first
}

// BlameWords are words that follow one another and came in with one version.
type BlameWords struct {
	Text    string `json:"text"`
	Version int    `json:"version"`
}

// BlameVersion is a version, and who wrote it.
type BlameVersion struct {
	Version     int            `json:"version"`
	MemoryID    string         `json:"memory_id"`
	Status      Status         `json:"status"`
	Statement   string         `json:"statement"`
	At          time.Time      `json:"at"`
	Action      Action         `json:"action"` // that made it
	Reason      string         `json:"change_reason,omitempty"`
	Run         *BlameRun      `json:"run,omitempty"`           // nil for a person, or an undo
	UndoneRunID string         `json:"undone_run_id,omitempty"` // of an undo: the run that it takes back
	Approved    bool           `json:"approved,omitempty"`      // it was held, and a person let it pass
	Evidence    []Evidence     `json:"evidence"`                // messages, also where its run was taken back
	Sources     []SourceMemory `json:"sources,omitempty"`       // memories that it rests on
	Remaining   int            `json:"remaining"`               // characters of the newest version that it brought
}

// BlameRun is the run that wrote a version.
type BlameRun struct {
	RunID         string     `json:"run_id"`
	Job           Job        `json:"job"`
	ChunkNo       int        `json:"chunk_no,omitempty"`
	Model         string     `json:"model"`
	PromptVersion string     `json:"prompt_version"`
	PromptSHA256  string     `json:"prompt_sha256"`
	UndoneAt      *time.Time `json:"undone_at,omitempty"`
}

// BlameReply is a blame as it is answered and printed.
type BlameReply struct {
	Success bool   `json:"success"`
	GroupID string `json:"group_id"`
	Blame
	Cut bool `json:"cut,omitempty"` // there are older versions than an answer holds; the words are of all
}
