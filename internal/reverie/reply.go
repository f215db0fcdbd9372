package reverie

import "time"

// The shapes that the command line prints under --json and the HTTP API
// answers with. Times are RFC 3339 in UTC.

// EvolveReply says what one run of evolve did to a group.
type EvolveReply struct {
	Success       bool          `json:"success"`
	GroupID       string        `json:"group_id"`
	RunID         string        `json:"run_id,omitempty"`
	EvolutionTime *time.Time    `json:"evolution_time,omitempty"`
	Status        RunStatus     `json:"status,omitempty"`
	DryRun        bool          `json:"dry_run,omitempty"`
	Message       string        `json:"message,omitempty"` // "no new messages"
	Error         string        `json:"error,omitempty"`
	Stats         EvolveStats   `json:"stats"`
	Messages      *MessageStats `json:"messages,omitempty"`
	Changes       []ChangeReply `json:"changes"`
	Refusals      []Refusal     `json:"refusals,omitempty"`
	Warnings      []string      `json:"warnings,omitempty"`
}

// EvolveStats counts memories. Kept are those that were active when the run
// began and are unchanged at its end.
type EvolveStats struct {
	Kept    int `json:"kept"`
	Updated int `json:"updated"`
	Created int `json:"created"`
	Deleted int `json:"deleted"`
	Refused int `json:"refused"`
	Held    int `json:"held"`
}

// Evolve is what of a run's figures counts memories.
func (s Stats) Evolve() EvolveStats {
	return EvolveStats{Kept: s.Kept, Updated: s.Updated, Created: s.Created, Deleted: s.Deleted,
		Refused: s.Refused, Held: s.Held}
}

// MessageStats counts the messages of a window; the four add up to all of them.
type MessageStats struct {
	Cited      int `json:"cited"`
	Considered int `json:"considered"`
	Filtered   int `json:"filtered"`
	Deferred   int `json:"deferred"` // still pending
}

// ChangeReply is a change as a run reports it. A create has a statement, an
// update an old and a new one, a delete an old one.
type ChangeReply struct {
	Action       Action          `json:"action"`
	OldID        string          `json:"old_id,omitempty"`
	NewID        string          `json:"new_id,omitempty"`
	Statement    string          `json:"statement,omitempty"`
	OldStatement string          `json:"old_statement,omitempty"`
	NewStatement string          `json:"new_statement,omitempty"`
	ChangeReason string          `json:"change_reason"`
	Version      int             `json:"version"`
	Evidence     []EvidenceReply `json:"evidence"`
}

// EvidenceReply is evidence as clients see it.
type EvidenceReply struct {
	MessageID string `json:"message_id"`
	Author    string `json:"author"`
	Quote     string `json:"quote"`
}

// Reply is the change in the shape that a run reports.
func (c Change) Reply() ChangeReply {
	r := ChangeReply{Action: c.Action, ChangeReason: c.Summary, Version: c.Version, Evidence: []EvidenceReply{}}
	if c.OldID != nil {
		r.OldID = *c.OldID
	}
	switch c.Action {
	case ActionCreate:
		r.NewID, r.Statement = c.MemoryID, c.NewStatement
	case ActionDelete:
		r.OldID, r.OldStatement = c.MemoryID, c.OldStatement
	default:
		r.NewID, r.OldStatement, r.NewStatement = c.MemoryID, c.OldStatement, c.NewStatement
	}
	for _, e := range c.Evidence {
		r.Evidence = append(r.Evidence, EvidenceReply{e.MessageID, e.Author, e.Quote})
	}
	return r
}

// ListReply is a page of memories.
type ListReply struct {
	Success  bool     `json:"success"`
	GroupID  string   `json:"group_id"`
	Total    int      `json:"total"` // of all pages
	Memories []Memory `json:"memories"`
}

// SearchReply is the answer to a search, best first.
type SearchReply struct {
	Success bool           `json:"success"`
	Query   string         `json:"query"`
	Results []SearchResult `json:"results"`
}

// SearchResult is one memory found. Score is the calibrated similarity, 0..1.
type SearchResult struct {
	MemoryID  string    `json:"memory_id"`
	Statement string    `json:"statement"`
	Score     float64   `json:"score"`
	Version   int       `json:"version"`
	Kind      Kind      `json:"kind"`
	UpdatedAt time.Time `json:"updated_at"`
}

// HistoryReply is a lineage, oldest version first.
type HistoryReply struct {
	Success        bool           `json:"success"`
	MemoryID       string         `json:"memory_id"`
	CurrentVersion int            `json:"current_version"`
	History        []HistoryEntry `json:"history"`
	Cut            bool           `json:"cut,omitempty"` // there are older ones than an answer holds
}

// HistoryEntry is one version. The first has created_at, the others updated_at.
type HistoryEntry struct {
	Version       int        `json:"version"`
	MemoryID      string     `json:"memory_id"`
	Statement     string     `json:"statement"`
	Status        Status     `json:"status"`
	CreatedAt     *time.Time `json:"created_at,omitempty"`
	UpdatedAt     *time.Time `json:"updated_at,omitempty"`
	ParentID      *string    `json:"parent_id"`
	ChangeSummary string     `json:"change_summary,omitempty"`
	JudgeAgain    string     `json:"judge_again,omitempty"`
}

// NewHistoryReply shapes the versions of a lineage, oldest first.
func NewHistoryReply(memoryID string, versions []Memory) HistoryReply {
	r := HistoryReply{Success: true, MemoryID: memoryID, History: []HistoryEntry{}}
	for _, m := range versions {
		at := m.UpdatedAt
		e := HistoryEntry{Version: m.Version, MemoryID: m.ID, Statement: m.Statement, Status: m.Status,
			ParentID: m.ParentID, ChangeSummary: m.ChangeSummary, JudgeAgain: m.JudgeAgain}
		if m.Version == 1 {
			e.CreatedAt, e.ChangeSummary = &at, ""
		} else {
			e.UpdatedAt = &at
		}
		r.History = append(r.History, e)
		r.CurrentVersion = m.Version
	}
	return r
}

// WhyReply is what stands behind a memory.
type WhyReply struct {
	Success bool   `json:"success"`
	GroupID string `json:"group_id"`
	Why
	Cut bool `json:"cut,omitempty"` // there are older versions than an answer holds
}

// ChangesReply is a group's change log over a period of days.
type ChangesReply struct {
	Success bool     `json:"success"`
	GroupID string   `json:"group_id"`
	Period  string   `json:"period"` // 2026-01-08 to 2026-01-15
	Changes []Change `json:"changes"`
}

// MemoryReply is the answer to an edit: the lineage's head, as in a list.
type MemoryReply struct {
	Success bool `json:"success"`
	Memory
}
