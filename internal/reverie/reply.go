package reverie

import (
	"reverie/internal/text"
	"slices"
	"time"
)

// The shapes that the command line prints under --json and the HTTP API
// answers with. Times are RFC 3339 in UTC.

// RunSummary is what the replies of all jobs say of a run.
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

// EvolveReply says what one run of evolve did to a group.
type EvolveReply struct {
	RunSummary
	EvolutionTime *time.Time    `json:"evolution_time,omitempty"`
	Stats         EvolveStats   `json:"stats"`
	Changes       []ChangeReply `json:"changes"`
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

	Archived int `json:"archived,omitempty"` // for their silence, or for room
}

// Evolve is what of a run's figures counts memories.
func (s Stats) Evolve() EvolveStats {
	return EvolveStats{Kept: s.Kept, Updated: s.Updated, Created: s.Created, Deleted: s.Deleted,
		Refused: s.Refused, Held: s.Held, Archived: s.Archived}
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
	r := ChangeReply{Action: c.Action, ChangeReason: c.Summary, Version: c.Version,
		Evidence: text.Each(c.Evidence, func(e Evidence) EvidenceReply { return EvidenceReply{e.MessageID, e.Author, e.Quote} })}
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
	return r
}

// ChangeReplies are changes in the shape that a run reports.
func ChangeReplies(changes []Change) []ChangeReply {
	return text.Each(changes, Change.Reply)
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
	Success  bool           `json:"success"`
	Query    string         `json:"query"`
	Results  []SearchResult `json:"results"`
	Message  string         `json:"message,omitempty"` // why there are none, or none that is related
	Warnings []string       `json:"warnings,omitempty"`
}

// SearchResult is one memory found. Score is how much it bears on the query, 0..1; from
// [RelatedScore] they are related.
type SearchResult struct {
	MemoryID  string    `json:"memory_id"`
	Statement string    `json:"statement"`
	Score     float64   `json:"score"`
	Related   bool      `json:"related"`
	Version   int       `json:"version"`
	Kind      Kind      `json:"kind"`
	Status    Status    `json:"status"` // active, or archived
	UpdatedAt time.Time `json:"updated_at"`
	// FromGroupID is the linked group whose it is, "" of the group asked and its team.
	FromGroupID string `json:"from_group_id,omitempty"`
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
	SaidAt        time.Time  `json:"said_at"` // when the chat said it
	ParentID      *string    `json:"parent_id"`
	ChangeSummary string     `json:"change_summary,omitempty"`
	Author        string     `json:"author,omitempty"` // the person who wrote it, "" for a job
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

// ShowReply is a memory with the words that it rests on, oldest first, and its versions.
type ShowReply struct {
	Success  bool           `json:"success"`
	GroupID  string         `json:"group_id"`
	Memory   Memory         `json:"memory"` // the lineage's newest version
	Evidence []Evidence     `json:"evidence"`
	Sources  []SourceMemory `json:"sources"` // memories that its newest version rests on
	Usage    UsageCount     `json:"usage"`
	History  []HistoryEntry `json:"history"`
	Cut      bool           `json:"cut,omitempty"` // there are older versions than an answer holds
}

// NewShowReply shapes what stands behind a memory. Of a message that bears several
// versions out, each quote is listed once.
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

// ClearReply says of how many messages the short-term memory of a session was cleared.
type ClearReply struct {
	Success   bool   `json:"success"`
	GroupID   string `json:"group_id"`
	SessionID string `json:"session_id"`
	Cleared   int    `json:"cleared"`
}

// RunDetail is everything that the ledger knows about a run.
type RunDetail struct {
	Run     Run
	Chunks  []Chunk
	Held    []HeldPlan
	Changes []Change
	// Decisions are on the facts that a run would create.
	Decisions []Decision
	// Entities is what a run of impressions changed, Names those that it is about, by id.
	Entities []EntityChange
	Names    map[string]string
	Calls    []Call
	Spend    Spend // what the calls have cost, those that were left out included
	Cut      bool  // it has more of a part than was asked for
}

// RunReply is a run and everything that the ledger knows about it.
type RunReply struct {
	Success bool          `json:"success"`
	Run     Run           `json:"run"`
	Spend   Spend         `json:"spend"`
	Setback *Setback      `json:"setback,omitempty"` // of the job, as it stands now
	Chunks  []Chunk       `json:"chunks"`
	Changes []ChangeReply `json:"changes"`
	// Decisions are on the facts that the run would create.
	Decisions []Decision `json:"decisions"`
	// Entities are the changes of a run of the impression job.
	Entities []EntityChangeReply `json:"entities,omitempty"`
	Held     []HeldReply         `json:"held"`
	Calls    []Call              `json:"calls"`
	Cut      bool                `json:"cut,omitempty"` // there is more of a part than an answer holds
}

// HeldReply is a plan that waits for a person, or did.
type HeldReply struct {
	ChunkNo int        `json:"chunk_no"`
	Whole   bool       `json:"whole"`
	Reason  string     `json:"reason"`
	Status  HeldStatus `json:"status"`
	Steps   []Step     `json:"steps"`
}

// Reply is the run as clients see it, in its group as that stands now.
func (d RunDetail) Reply(g GroupEntry) RunReply {
	return RunReply{Success: true, Run: d.Run, Spend: d.Spend, Setback: g.Setback(d.Run.Job), Chunks: d.Chunks, Changes: ChangeReplies(d.Changes),
		Decisions: append([]Decision{}, d.Decisions...), Entities: EntityChangeReplies(d.Entities, d.Names), Calls: d.Calls, Cut: d.Cut,
		Held: text.Each(d.Held, func(h HeldPlan) HeldReply { return HeldReply{h.ChunkNo, h.Whole, h.Reason, h.Status, h.Steps} })}
}

// RejectReply says what became of a run that a person has refused or cancelled.
type RejectReply struct {
	Success  bool   `json:"success"`
	RunID    string `json:"run_id"`
	Requeued int    `json:"requeued"` // messages pending again, or memories new to dreams again
}

// ExtractReply says what one run of extraction did with a session.
type ExtractReply struct {
	RunSummary
	Job            Job             `json:"job"` // extract
	SessionID      string          `json:"session_id"`
	ExtractionTime *time.Time      `json:"extraction_time,omitempty"`
	Stats          EvolveStats     `json:"stats"` // of memories of kind session
	Changes        []ChangeReply   `json:"changes"`
	Summary        string          `json:"summary,omitempty"` // the session's summary memory, as it was renewed
	Folded         *SessionSummary `json:"folded,omitempty"`  // its rolling summary, as it was renewed
}

// DreamReply says what one run of dream did with a group.
type DreamReply struct {
	RunSummary
	Job       Job           `json:"job"` // dream
	SessionID string        `json:"through_session,omitempty"`
	DreamTime *time.Time    `json:"dream_time,omitempty"`
	Reason    string        `json:"reason,omitempty"`   // why it was due
	Stats     EvolveStats   `json:"stats"`              // of memories of kind dream
	Sources   *DreamCounts  `json:"material,omitempty"` // what it took in; nothing, where it was not applied
	Narrative string        `json:"narrative,omitempty"`
	Changes   []ChangeReply `json:"changes"`
}

// DreamCounts counts what a dream took in, and how.
type DreamCounts struct {
	Sessions int `json:"sessions"`
	Memories int `json:"memories"` // versions that were new
	Batches  int `json:"batches"`  // chunks that they were put in, a question each
	Calls    int `json:"calls"`    // questions asked in all, those that were answered before an interruption included
}

// DreamPage is the JSON of what a group's dreams have left.
type DreamPage struct {
	Success   bool         `json:"success"`
	GroupID   string       `json:"group_id"`
	RunID     string       `json:"run_id,omitempty"` // of the last dream
	SessionID string       `json:"through_session,omitempty"`
	DreamTime *time.Time   `json:"dream_time,omitempty"`
	Status    RunStatus    `json:"status,omitempty"`    // of the last dream
	Sources   *DreamCounts `json:"material,omitempty"`  // what it took in
	Message   string       `json:"message,omitempty"`   // where there is nothing to show
	Held      []string     `json:"held_runs,omitempty"` // dreams that wait for a person
	Narrative *DreamItem   `json:"narrative"`
	Items     []DreamItem  `json:"items"`
}

// DreamCounts is what a dream took in, and how.
func (st Stats) DreamCounts() *DreamCounts {
	return &DreamCounts{Sessions: st.Sessions, Memories: st.Material, Batches: st.Batches, Calls: st.Asked}
}

// Nothing tells whether a group has not dreamt, and nothing is there to show. Of a group
// that was imported there may be something without a dream.
func (d Dream) Nothing() bool {
	return d.Run == nil && len(d.Waiting) == 0 && d.Narrative == nil && len(d.Items) == 0
}

// NothingLeft tells whether a group has dreamt, and nothing of it stands or waits.
func (d Dream) NothingLeft() bool {
	return d.Run != nil && d.Narrative == nil && len(d.Items)+len(d.Waiting) == 0
}

// BecameOf says what has become of dreams of which nothing is left.
func (d Dream) BecameOf() string {
	if d.Gone {
		return "what it left was archived or deleted: memory list has it, with --status archived or deprecated"
	}
	return "nothing that lasts has come of it"
}

// Page is what dreams have left as clients see it. The message is for a group that has
// not dreamt.
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

// ImpressionsReply says what one run of the impression job did to a group.
type ImpressionsReply struct {
	RunSummary
	Job            Job                 `json:"job"` // impression
	ImpressionTime *time.Time          `json:"impression_time,omitempty"`
	Stats          ImpressionStats     `json:"stats"`
	Changes        []EntityChangeReply `json:"changes"`
}

// ImpressionStats counts entities, and what was observed and is not part of one:
// what waits to be sure whom it is about, and what was refused.
type ImpressionStats struct {
	Created   int `json:"created"`
	Updated   int `json:"updated"`
	Postponed int `json:"postponed"`
	Refused   int `json:"refused"`
}

// EntityChangeReply is a change with the name of what it changed.
type EntityChangeReply struct {
	Subject string `json:"subject,omitempty"`
	EntityChange
}

// EntityChangeReplies are changes with the names of what they changed, by id.
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

// ContextReply is what a bot is given for its next turn. Text is all of it in one
// piece, ready to stand in a prompt; the other fields say what is in it.
type ContextReply struct {
	Success   bool              `json:"success"`
	GroupID   string            `json:"group_id"`
	SessionID string            `json:"session_id,omitempty"`
	Query     string            `json:"query"`
	UsageID   string            `json:"usage_id,omitempty"` // to report which memories the answer used; "" where none is offered
	Text      string            `json:"text"`               // "" where there is nothing to say
	Memories  []ContextMemory   `json:"memories"`           // best first
	Entities  []ContextEntity   `json:"entities"`
	Quotes    []ContextQuote    `json:"quotes"` // messages from outside of the session, best first
	ShortTerm *ContextShortTerm `json:"short_term,omitempty"`
	Counts    ContextCounts     `json:"counts"`
	Tokens    int               `json:"tokens"`     // estimated, of Text
	MaxTokens int               `json:"max_tokens"` // that Text may have
	// Skipped says why no memories were looked up: first_round, query_too_short,
	// no_keyword, not_similar, trigger_never; "" where they were.
	Skipped  string   `json:"skipped,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// ContextMemory is a memory that is offered.
type ContextMemory struct {
	GroupID         string    `json:"-"`                       // the group, its team, or a linked group
	FromGroupID     string    `json:"from_group_id,omitempty"` // where it is a linked group's
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

// ContextEntity is somebody or something that the query names.
type ContextEntity struct {
	EntityID string     `json:"entity_id"`
	Kind     EntityKind `json:"kind"`
	Subject  string     `json:"subject"`
	Lines    []string   `json:"lines"` // what is said of it, strongest first
}

// ContextQuote is an earlier message that bears on the query.
type ContextQuote struct {
	MessageID string    `json:"message_id"`
	Author    string    `json:"author"`
	SentAt    time.Time `json:"sent_at"`
	Text      string    `json:"text"`
	Score     float64   `json:"score"` // share of the query's words that it has, 0..1
}

// ContextShortTerm is what was said in the session: a summary of the older turns,
// and the newest ones word for word.
type ContextShortTerm struct {
	Summary *SessionSummary  `json:"summary,omitempty"`
	Turns   []ContextMessage `json:"turns"` // oldest first
}

// ContextMessage is a message of a newest turn.
type ContextMessage struct {
	MessageID string    `json:"message_id"`
	Author    string    `json:"author"`
	Role      Role      `json:"role"`
	Text      string    `json:"text"`
	SentAt    time.Time `json:"sent_at"`
}

// ContextCounts counts what a context was made of.
type ContextCounts struct {
	Candidates int `json:"candidates"` // memories near enough to be ranked
	LongTerm   int `json:"long_term"`  // memories offered
	Entities   int `json:"entities"`
	Quotes     int `json:"quotes"`
	ShortTerm  int `json:"short_term"` // messages given word for word
	Summarized int `json:"summarized"` // messages that the summary covers
	Dropped    int `json:"dropped"`    // memories, entities, quotes and messages that the budget left no room for
}

// FeedbackReply says which of the offered memories an answer used, and where their
// weights are now.
type FeedbackReply struct {
	Success    bool             `json:"success"`
	GroupID    string           `json:"group_id"`
	SessionID  string           `json:"session_id,omitempty"`
	UsageID    string           `json:"usage_id,omitempty"`
	Offered    int              `json:"offered"`
	Referenced int              `json:"referenced"`
	Known      bool             `json:"known,omitempty"` // it was reported before: nothing has moved
	Message    string           `json:"message,omitempty"`
	Memories   []FeedbackMemory `json:"memories"`
	Warnings   []string         `json:"warnings,omitempty"`
}

// FeedbackMemory is a memory that had been offered.
type FeedbackMemory struct {
	MemoryID       string  `json:"memory_id"`
	Statement      string  `json:"statement"`
	WasReferenced  bool    `json:"was_referenced"`
	ReferenceScore float64 `json:"reference_score"` // 0..1
	Weight         float64 `json:"weight"`          // after it
}
