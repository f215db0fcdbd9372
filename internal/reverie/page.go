package reverie

import "time"

// GroupsReply is a page of groups, by id.
type GroupsReply struct {
	Success bool         `json:"success"`
	Groups  []GroupReply `json:"groups"`
	Next    string       `json:"next,omitempty"` // continue after this id; "" on the last page
}

// GroupReply is a group and its state.
type GroupReply struct {
	GroupEntry
	State GroupState `json:"state"`
}

// RunsReply is a page of runs, newest first.
type RunsReply struct {
	Success bool       `json:"success"`
	Runs    []RunEntry `json:"runs"`
	More    bool       `json:"more,omitempty"` // there are older ones
}

// MessageQuery selects messages of a group: the newest, those before or after a message, or those around one.
type MessageQuery struct {
	GroupID   string
	SessionID string // "" = all
	Before    string // message id: only older ones
	After     string // message id: only newer ones, starting with the oldest of them
	Around    string // message id: this message and those before and after it
	Limit     int    // maximum number of messages
}

// ConversationMessage is a message for readers, with its outcome.
type ConversationMessage struct {
	Message
	State  string  `json:"state"`            // pending, cited, considered or filtered
	RunID  *string `json:"run_id,omitempty"` // the run that consumed it
	Pruned bool    `json:"pruned,omitempty"` // its text was removed by the configured retention

	Reactions map[string]int `json:"reactions,omitempty"` // by emoji
}

// MessagesReply is a page of messages, oldest first.
type MessagesReply struct {
	Success  bool                  `json:"success"`
	GroupID  string                `json:"group_id"`
	Messages []ConversationMessage `json:"messages"`
	Older    bool                  `json:"older,omitempty"` // there are older ones
	Newer    bool                  `json:"newer,omitempty"` // there are newer ones
}

// MessagesAdded is the result of an import of messages.
type MessagesAdded struct {
	Success  bool           `json:"success"` // every line was stored, already known, or erased before
	GroupID  string         `json:"group_id"`
	New      int            `json:"new"`
	Known    int            `json:"known"`             // stored before, and unchanged
	Changed  int            `json:"changed,omitempty"` // of these: their text has changed
	SameID   int            `json:"same_id,omitempty"` // had the id of another message, and got an id of their own
	Erased   int            `json:"erased,omitempty"`  // erased with their author, and not stored again
	Filtered map[Filter]int `json:"filtered,omitempty"`
	Bad      []BadLine      `json:"bad,omitempty"` // the first bad lines; see BadCount
	BadCount int            `json:"bad_count"`
	ChangeResult
}

// MessageChanged is the result of the change of one message.
type MessageChanged struct {
	Success   bool   `json:"success"`
	GroupID   string `json:"group_id"`
	MessageID string `json:"id"`
	ChangeResult
}

// BadLine is a line that was refused, and why.
type BadLine struct {
	Line   int    `json:"line"` // counts from 1
	Reason string `json:"reason"`
}

// CostQuery asks for the cost of models, by day, group and model.
type CostQuery struct {
	GroupID      string    // "" = all
	Since, Until time.Time // half-open; zero values are no bound
	Limit        int       // maximum number of rows of each part
}

// CostsReply is the cost of models.
type CostsReply struct {
	Success bool      `json:"success"`
	GroupID string    `json:"group_id,omitempty"`
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"`
	Total   Spend     `json:"total"`
	Days    []Cost    `json:"days"`          // in UTC, oldest first, without days that have no calls
	Groups  []Cost    `json:"groups"`        // most expensive first
	Models  []Cost    `json:"models"`        // most expensive first, by provider/model and purpose
	Cut     bool      `json:"cut,omitempty"` // earlier days, or cheaper groups or models, were left out
}

// Cost is the cost of the calls of one day, group or model.
type Cost struct {
	Date    string `json:"date,omitempty"`
	GroupID string `db:"group_id" json:"group_id,omitempty"`
	Model   string `json:"model,omitempty"`
	Tier    string `json:"tier,omitempty"` // of a model: standard, flex, batch or off_peak
	Purpose string `json:"purpose,omitempty"`
	Failed  int    `json:"failed"` // calls whose outcome was not ok
	Spend
}

// NightsReply lists what happened to a group's memories night by night.
type NightsReply struct {
	Success bool    `json:"success"`
	GroupID string  `json:"group_id"`
	Nights  []Night `json:"nights"`         // newest first
	More    bool    `json:"more,omitempty"` // there are older ones
	Next    string  `json:"next,omitempty"` // continue before this date
	Cut     bool    `json:"cut,omitempty"`  // some runs or changes were left out
}

// Night is a date of the group's own calendar, and what happened to its memories. It has the runs for that date,
// the runs without a date that began on it, and the edits by persons.
type Night struct {
	Date     string     `json:"date"`
	Since    time.Time  `json:"since"`
	Until    time.Time  `json:"until"`    // exclusive
	Stats    Stats      `json:"stats"`    // sum of its runs, without undone runs and those of impressions
	Runs     []RunEntry `json:"runs"`     // newest first
	Changes  []Change   `json:"changes"`  // newest first
	Archived int        `json:"archived"` // archived by maintenance on this date
}

// Proposal is a request of an agent to remember or forget something. A person must approve it.
type Proposal struct {
	GroupID   string
	Action    Action // create, update or delete
	MemoryID  string // the head to be updated or deleted
	Statement string // create, update
	Reason    string
	Evidence  []Evidence // message ids, with quotes if known
	By        string     // the name of the proposer's token
}

// ProposalReply names the run that holds a proposal.
type ProposalReply struct {
	Success bool      `json:"success"`
	GroupID string    `json:"group_id"`
	RunID   string    `json:"run_id"`
	Status  RunStatus `json:"status"` // held
	Message string    `json:"message"`
}

// Recalled explains a context: every memory that was ranked, and its outcome.
type Recalled struct {
	ContextReply
	// The rule that decides whether memories are searched: see Skipped.
	Trigger       string            `json:"trigger"`
	MinSimilarity float64           `json:"min_similarity"` // minimum similarity of a candidate
	Candidates    []RecallCandidate `json:"candidates"`     // best first, then those below the minimum
}

// RecallCandidate is a memory that was considered for a context.
type RecallCandidate struct {
	ContextMemory
	Words float64 `json:"words"` // share of the query's words in the memory, 0..1: part of its similarity
	// Fate is "offered", or why the memory was not: repeats (a better one says the same), own_summary (it sums up the
	// session itself), beyond_count (max_return), beyond_tokens (max_tokens), not_similar (semantic_threshold), below
	// (min_similarity).
	Fate string `json:"fate"`
}
