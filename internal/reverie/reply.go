package reverie

import (
	"slices"
	"time"
)

// The JSON of the command line (--json) and of the HTTP API. Times are RFC 3339 in UTC.

// RunSummary holds the fields that the replies of all jobs share.
type RunSummary struct {
	Success  bool          `json:"success"`
	GroupID  string        `json:"group_id"`
	RunID    string        `json:"run_id,omitempty"`
	Status   RunStatus     `json:"status,omitempty"`
	DryRun   bool          `json:"dry_run,omitempty"`
	Message  string        `json:"message,omitempty"` // why nothing was done
	Error    string        `json:"error,omitempty"`
	Messages *MessageStats `json:"messages,omitempty"`
	Refusals []Refusal     `json:"refusals,omitempty"`
	Warnings []string      `json:"warnings,omitempty"`
}

// EvolveReply is the result of one run of evolve in a group.
type EvolveReply struct {
	RunSummary
	EvolutionTime *time.Time    `json:"evolution_time,omitempty"`
	Stats         EvolveStats   `json:"stats"`
	Changes       []ChangeReply `json:"changes"`
}

// EvolveStats counts memories. Kept are those that were active at the start of the run and unchanged at its end.
type EvolveStats struct {
	Kept    int `json:"kept"`
	Updated int `json:"updated"`
	Created int `json:"created"`
	Deleted int `json:"deleted"`
	Refused int `json:"refused"`
	Held    int `json:"held"`

	Archived int `json:"archived,omitempty"` // archived as stale, or to make room
}

// Evolve returns the counts of memories.
func (s Stats) Evolve() EvolveStats {
	return EvolveStats{Kept: s.Kept, Updated: s.Updated, Created: s.Created, Deleted: s.Deleted,
		Refused: s.Refused, Held: s.Held, Archived: s.Archived}
}

// MessageStats counts the messages of a window; the sum of the four is the number of all messages.
type MessageStats struct {
	Cited      int `json:"cited"`
	Considered int `json:"considered"`
	Filtered   int `json:"filtered"`
	Deferred   int `json:"deferred"` // still pending
}

// ChangeReply is a change in the report of a run. A create has a statement, an update an old and a new one, a
// delete an old one.
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

// Reply converts the change for the report of a run.
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

// ChangeReplies converts changes for the report of a run.
func ChangeReplies(changes []Change) []ChangeReply {
	list := make([]ChangeReply, len(changes))
	for i, c := range changes {
		list[i] = c.Reply()
	}
	return list
}

// ListReply is a page of memories.
type ListReply struct {
	Success  bool     `json:"success"`
	GroupID  string   `json:"group_id"`
	Total    int      `json:"total"` // on all pages together
	Memories []Memory `json:"memories"`
}

// SearchReply is the answer to a search, best first.
type SearchReply struct {
	Success  bool           `json:"success"`
	Query    string         `json:"query"`
	Results  []SearchResult `json:"results"`
	Message  string         `json:"message,omitempty"` // why nothing, or nothing related, was found
	Warnings []string       `json:"warnings,omitempty"`
}

// SearchResult is one memory found. Score is its relevance to the query, 0..1; from [RelatedScore] on it is
// related.
type SearchResult struct {
	MemoryID  string    `json:"memory_id"`
	Statement string    `json:"statement"`
	Score     float64   `json:"score"`
	Related   bool      `json:"related"`
	Version   int       `json:"version"`
	Kind      Kind      `json:"kind"`
	Status    Status    `json:"status"` // active, or archived
	UpdatedAt time.Time `json:"updated_at"`
	// FromGroupID is the linked group that owns the memory, "" for the searched group and its team.
	FromGroupID string `json:"from_group_id,omitempty"`
}

// HistoryReply holds the versions of a lineage, oldest first.
type HistoryReply struct {
	Success        bool           `json:"success"`
	MemoryID       string         `json:"memory_id"`
	CurrentVersion int            `json:"current_version"`
	History        []HistoryEntry `json:"history"`
	Cut            bool           `json:"cut,omitempty"` // older versions were left out
}

// HistoryEntry is one version. The first has created_at, the others updated_at.
type HistoryEntry struct {
	Version       int        `json:"version"`
	MemoryID      string     `json:"memory_id"`
	Statement     string     `json:"statement"`
	Status        Status     `json:"status"`
	CreatedAt     *time.Time `json:"created_at,omitempty"`
	UpdatedAt     *time.Time `json:"updated_at,omitempty"`
	SaidAt        time.Time  `json:"said_at"` // when the chat said it
	ParentID      *string    `json:"parent_id"`
	ChangeSummary string     `json:"change_summary,omitempty"`
	Author        string     `json:"author,omitempty"` // the person who wrote it, "" if a job did
	JudgeAgain    string     `json:"judge_again,omitempty"`
}

// NewHistoryReply shapes the versions of a lineage, oldest first.
func NewHistoryReply(memoryID string, versions []Memory) HistoryReply {
	r := HistoryReply{Success: true, MemoryID: memoryID, History: []HistoryEntry{}}
	for _, m := range versions {
		at := m.UpdatedAt
		e := HistoryEntry{Version: m.Version, MemoryID: m.ID, Statement: m.Statement, Status: m.Status,
			SaidAt: m.SaidAt, ParentID: m.ParentID, ChangeSummary: m.ChangeSummary, Author: m.Author, JudgeAgain: m.JudgeAgain}
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

// ShowReply is a memory with its quotes, oldest first, and its versions.
type ShowReply struct {
	Success  bool           `json:"success"`
	GroupID  string         `json:"group_id"`
	Memory   Memory         `json:"memory"` // the lineage's newest version
	Evidence []Evidence     `json:"evidence"`
	Sources  []SourceMemory `json:"sources"` // memories that the newest version rests on
	Usage    UsageCount     `json:"usage"`
	History  []HistoryEntry `json:"history"`
	Cut      bool           `json:"cut,omitempty"` // older versions were left out
}

// NewShowReply shapes the history of a memory. If a message supports several versions, each of its quotes is listed
// once.
func NewShowReply(w Why) ShowReply {
	r := ShowReply{Success: true, GroupID: w.Memory.GroupID, Memory: w.Memory, Evidence: []Evidence{},
		Sources: []SourceMemory{}, Usage: w.Usage}
	type words struct{ message, quote string }
	seen := map[words]bool{}
	versions := make([]Memory, len(w.Versions))
	for i, v := range w.Versions {
		versions[i] = v.Memory
		evidence := slices.Clone(v.Evidence)
		for _, l := range v.Later {
			if l.Action == ActionKeep {
				evidence = append(evidence, l.Evidence...)
			}
		}
		for _, e := range evidence {
			if at := (words{e.MessageID, e.Quote}); !seen[at] {
				seen[at] = true
				r.Evidence = append(r.Evidence, e)
			}
		}
		r.Sources = append([]SourceMemory{}, v.Sources...)
	}
	slices.SortStableFunc(r.Evidence, func(a, b Evidence) int { return a.SentAt.Compare(b.SentAt) })
	r.History = NewHistoryReply(w.Memory.ID, versions).History
	for i, v := range w.Versions {
		r.History[i].ChangeSummary = v.Reason
	}
	return r
}

// WhyReply is the history of a memory.
type WhyReply struct {
	Success bool   `json:"success"`
	GroupID string `json:"group_id"`
	Why
	Cut bool `json:"cut,omitempty"` // older versions were left out
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

// ClearReply counts the messages that were cleared from the short-term memory of a session.
type ClearReply struct {
	Success   bool   `json:"success"`
	GroupID   string `json:"group_id"`
	SessionID string `json:"session_id"`
	Cleared   int    `json:"cleared"`
}

// RunDetail is a run with everything recorded about it.
type RunDetail struct {
	Run     Run
	Chunks  []Chunk
	Held    []HeldPlan
	Changes []Change
	// Decisions are about the facts that the run proposed.
	Decisions []Decision
	// Entities are the changes of a run of the impression job. Names are the names of the changed entities, by id.
	Entities []EntityChange
	Names    map[string]string
	Calls    []Call
	Spend    Spend // cost of all calls, also of those left out
	Cut      bool  // a part has more entries than were asked for
}

// RunReply is a run for clients, with everything recorded about it.
type RunReply struct {
	Success bool          `json:"success"`
	Run     Run           `json:"run"`
	Spend   Spend         `json:"spend"`
	Setback *Setback      `json:"setback,omitempty"` // current failure state of the job
	Chunks  []Chunk       `json:"chunks"`
	Changes []ChangeReply `json:"changes"`
	// Decisions are about the facts that the run proposed.
	Decisions []Decision `json:"decisions"`
	// Entities are the changes of a run of the impression job.
	Entities []EntityChangeReply `json:"entities,omitempty"`
	Held     []HeldReply         `json:"held"`
	Calls    []Call              `json:"calls"`
	Cut      bool                `json:"cut,omitempty"` // some entries of a part were left out
}

// HeldReply is a plan held for a person, now or earlier.
type HeldReply struct {
	ChunkNo int        `json:"chunk_no"`
	Whole   bool       `json:"whole"`
	Reason  string     `json:"reason"`
	Status  HeldStatus `json:"status"`
	Steps   []Step     `json:"steps"`
}

// Reply converts the run for clients; g is the current state of its group.
func (d RunDetail) Reply(g GroupEntry) RunReply {
	r := RunReply{Success: true, Run: d.Run, Spend: d.Spend, Setback: g.Setback(d.Run.Job), Chunks: d.Chunks, Changes: ChangeReplies(d.Changes),
		Decisions: append([]Decision{}, d.Decisions...), Entities: EntityChangeReplies(d.Entities, d.Names), Held: []HeldReply{},
		Calls: d.Calls, Cut: d.Cut}
	for _, h := range d.Held {
		r.Held = append(r.Held, HeldReply{h.ChunkNo, h.Whole, h.Reason, h.Status, h.Steps})
	}
	return r
}

// RejectReply is the result of rejecting or cancelling a run.
type RejectReply struct {
	Success  bool   `json:"success"`
	RunID    string `json:"run_id"`
	Requeued int    `json:"requeued"` // messages that are pending again, or memories that are new to dreams again
}

// ExtractReply is the result of one extraction of a session.
type ExtractReply struct {
	RunSummary
	Job            Job             `json:"job"` // extract
	SessionID      string          `json:"session_id"`
	ExtractionTime *time.Time      `json:"extraction_time,omitempty"`
	Stats          EvolveStats     `json:"stats"` // of memories of kind session
	Changes        []ChangeReply   `json:"changes"`
	Summary        string          `json:"summary,omitempty"` // the new version of the session's summary memory
	Folded         *SessionSummary `json:"folded,omitempty"`  // the new rolling summary
}

// DreamReply is the result of one dream of a group.
type DreamReply struct {
	RunSummary
	Job       Job           `json:"job"` // dream
	SessionID string        `json:"through_session,omitempty"`
	DreamTime *time.Time    `json:"dream_time,omitempty"`
	Reason    string        `json:"reason,omitempty"`   // why it was due
	Stats     EvolveStats   `json:"stats"`              // of memories of kind dream
	Sources   *DreamCounts  `json:"material,omitempty"` // the material that it used; nil if it was not applied
	Narrative string        `json:"narrative,omitempty"`
	Changes   []ChangeReply `json:"changes"`
}

// DreamCounts counts the material of a dream, and its questions.
type DreamCounts struct {
	Sessions int `json:"sessions"`
	Memories int `json:"memories"` // new memory versions
	Batches  int `json:"batches"`  // chunks of the material, with one question each
	Calls    int `json:"calls"`    // all questions, including those answered before an interruption
}

// DreamPage is the JSON of the result of a group's dreams.
type DreamPage struct {
	Success   bool         `json:"success"`
	GroupID   string       `json:"group_id"`
	RunID     string       `json:"run_id,omitempty"` // of the last dream
	SessionID string       `json:"through_session,omitempty"`
	DreamTime *time.Time   `json:"dream_time,omitempty"`
	Status    RunStatus    `json:"status,omitempty"`    // of the last dream
	Sources   *DreamCounts `json:"material,omitempty"`  // the material that it used
	Message   string       `json:"message,omitempty"`   // set if there is nothing to show
	Held      []string     `json:"held_runs,omitempty"` // dreams that wait for a person
	Narrative *DreamItem   `json:"narrative"`
	Items     []DreamItem  `json:"items"`
}

// DreamCounts returns the counts of a dream's material, nil if there are none.
func (st Stats) DreamCounts() *DreamCounts {
	return &DreamCounts{Sessions: st.Sessions, Memories: st.Material, Batches: st.Batches, Calls: st.Asked}
}

// Nothing reports whether the group has not dreamt and there is nothing to show. An imported group may have items
// without a dream.
func (d Dream) Nothing() bool {
	return d.Run == nil && len(d.Waiting) == 0 && d.Narrative == nil && len(d.Items) == 0
}

// NothingLeft reports whether the group has dreamt, but no item is active and none is held.
func (d Dream) NothingLeft() bool {
	return d.Run != nil && d.Narrative == nil && len(d.Items)+len(d.Waiting) == 0
}

// BecameOf says why nothing is left of a group's dreams.
func (d Dream) BecameOf() string {
	if d.Gone {
		return "what it left was archived or deleted: memory list has it, with --status archived or deprecated"
	}
	return "nothing that lasts has come of it"
}

// Page converts the result of dreams for clients. The message is used for a group that has not dreamt.
func (d Dream) Page(message string) DreamPage {
	if d.NothingLeft() {
		message = d.BecameOf()
	}
	page := DreamPage{Success: true, GroupID: d.Group.ID, Message: message, Narrative: d.Narrative, Items: append([]DreamItem{}, d.Items...)}
	if r := d.Run; r != nil {
		page.RunID, page.SessionID, page.DreamTime, page.Status = r.ID, r.SessionID, r.FinishedAt, r.Status
		page.Sources = r.Stats.DreamCounts()
	}
	for _, r := range d.Waiting {
		page.Held = append(page.Held, r.ID)
	}
	return page
}

// ImpressionsReply is the result of one run of the impression job in a group.
type ImpressionsReply struct {
	RunSummary
	Job            Job                 `json:"job"` // impression
	ImpressionTime *time.Time          `json:"impression_time,omitempty"`
	Stats          ImpressionStats     `json:"stats"`
	Changes        []EntityChangeReply `json:"changes"`
}

// ImpressionStats counts entities, and observations that were not added to one: postponed and refused ones.
type ImpressionStats struct {
	Created   int `json:"created"`
	Updated   int `json:"updated"`
	Postponed int `json:"postponed"`
	Refused   int `json:"refused"`
}

// EntityChangeReply is a change with the name of the changed entity.
type EntityChangeReply struct {
	Subject string `json:"subject,omitempty"`
	EntityChange
}

// EntityChangeReplies adds to changes the names of their entities, by id.
func EntityChangeReplies(changes []EntityChange, names map[string]string) []EntityChangeReply {
	var list []EntityChangeReply
	for _, c := range changes {
		if c.Evidence == nil {
			c.Evidence = []Evidence{}
		}
		list = append(list, EntityChangeReply{Subject: names[c.EntityID], EntityChange: c})
	}
	return list
}

// ContextReply is the context for a bot's next turn. Text holds all of it, ready for a prompt; the other fields are
// its parts.
type ContextReply struct {
	Success   bool   `json:"success"`
	GroupID   string `json:"group_id"`
	SessionID string `json:"session_id,omitempty"`
	Query     string `json:"query"`
	// The id for reporting which memories the answer used; "" if no memory is offered.
	UsageID   string            `json:"usage_id,omitempty"`
	Text      string            `json:"text"`     // "" if the context is empty
	Memories  []ContextMemory   `json:"memories"` // best first
	Entities  []ContextEntity   `json:"entities"`
	Quotes    []ContextQuote    `json:"quotes"` // messages from outside the session, best first
	ShortTerm *ContextShortTerm `json:"short_term,omitempty"`
	Counts    ContextCounts     `json:"counts"`
	Tokens    int               `json:"tokens"`     // estimated, of Text
	MaxTokens int               `json:"max_tokens"` // the limit of Tokens
	// Skipped says why memories were not searched: first_round, query_too_short, no_keyword, not_similar,
	// trigger_never; "" if they were.
	Skipped  string   `json:"skipped,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// ContextMemory is a memory that is offered.
type ContextMemory struct {
	GroupID         string    `json:"-"`                       // the group, its team, or a linked group
	FromGroupID     string    `json:"from_group_id,omitempty"` // set for a memory of a linked group
	MemoryID        string    `json:"memory_id"`
	LineageID       string    `json:"lineage_id"`
	Kind            Kind      `json:"kind"`
	Status          Status    `json:"status"` // active, or archived
	Statement       string    `json:"statement"`
	Version         int       `json:"version"`
	Score           float64   `json:"score"` // see Factors.Score
	Factors         Factors   `json:"factors"`
	Tags            []string  `json:"tags"`
	UpdatedAt       time.Time `json:"updated_at"`
	LastSupportedAt time.Time `json:"last_supported_at"`
}

// ContextEntity is an entity that the query names.
type ContextEntity struct {
	EntityID string     `json:"entity_id"`
	Kind     EntityKind `json:"kind"`
	Subject  string     `json:"subject"`
	Lines    []string   `json:"lines"` // its claims, strongest first
}

// ContextQuote is an earlier message that is relevant to the query.
type ContextQuote struct {
	MessageID string    `json:"message_id"`
	Author    string    `json:"author"`
	SentAt    time.Time `json:"sent_at"`
	Text      string    `json:"text"`
	Score     float64   `json:"score"` // share of the query's words in it, 0..1
}

// ContextShortTerm is the session's dialogue: a summary of the older turns, and the newest turns verbatim.
type ContextShortTerm struct {
	Summary *SessionSummary  `json:"summary,omitempty"`
	Turns   []ContextMessage `json:"turns"` // oldest first
}

// ContextMessage is a message of one of the newest turns.
type ContextMessage struct {
	MessageID string    `json:"message_id"`
	Author    string    `json:"author"`
	Role      Role      `json:"role"`
	Text      string    `json:"text"`
	SentAt    time.Time `json:"sent_at"`
}

// ContextCounts counts the parts of a context.
type ContextCounts struct {
	Candidates int `json:"candidates"` // memories similar enough to be ranked
	LongTerm   int `json:"long_term"`  // offered memories
	Entities   int `json:"entities"`
	Quotes     int `json:"quotes"`
	ShortTerm  int `json:"short_term"` // verbatim messages
	Summarized int `json:"summarized"` // messages covered by the summary
	Dropped    int `json:"dropped"`    // memories, entities, quotes and messages that did not fit the token budget
}

// FeedbackReply says which of the offered memories an answer used, and their new weights.
type FeedbackReply struct {
	Success    bool             `json:"success"`
	GroupID    string           `json:"group_id"`
	SessionID  string           `json:"session_id,omitempty"`
	UsageID    string           `json:"usage_id,omitempty"`
	Offered    int              `json:"offered"`
	Referenced int              `json:"referenced"`
	Known      bool             `json:"known,omitempty"` // it was reported before: no weight has changed
	Message    string           `json:"message,omitempty"`
	Memories   []FeedbackMemory `json:"memories"`
	Warnings   []string         `json:"warnings,omitempty"`
}

// FeedbackMemory is a memory that was offered.
type FeedbackMemory struct {
	MemoryID       string  `json:"memory_id"`
	Statement      string  `json:"statement"`
	WasReferenced  bool    `json:"was_referenced"`
	ReferenceScore float64 `json:"reference_score"` // 0..1
	Weight         float64 `json:"weight"`          // after the change
}
