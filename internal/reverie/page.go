package reverie

import "time"

// GroupsReply is a page of groups, by id.
type GroupsReply struct {
	Success bool         `json:"success"`
	Groups  []GroupReply `json:"groups"`
	Next    string       `json:"next,omitempty"` // to go on after; "" where there are no more
}

// GroupReply is a group and how it stands.
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

// MessageQuery selects messages of a group: the newest, those before or after one, or
// those around one.
type MessageQuery struct {
	GroupID   string
	SessionID string // "" = all
	Before    string // message id: only older ones
	After     string // message id: only newer ones, the oldest of them first chosen
	Around    string // message id: it, and what was said before and after it
	Limit     int    // messages at most
}

// ConversationMessage is a message as readers see it, with what became of it.
type ConversationMessage struct {
	Message
	State  string  `json:"state"`            // pending, cited, considered or filtered
	RunID  *string `json:"run_id,omitempty"` // that consumed it
	Pruned bool    `json:"pruned,omitempty"` // its text was removed, as the configuration has it

	Reactions map[string]int `json:"reactions,omitempty"` // how often each emoji was given
}

// MessagesReply is a page of messages, oldest first.
type MessagesReply struct {
	Success  bool                  `json:"success"`
	GroupID  string                `json:"group_id"`
	Messages []ConversationMessage `json:"messages"`
	Older    bool                  `json:"older,omitempty"` // there are older ones
	Newer    bool                  `json:"newer,omitempty"` // there are newer ones
}

// MessagesAdded says what became of messages that were handed in.
type MessagesAdded struct {
	Success  bool           `json:"success"` // every line was stored, known, or erased
	GroupID  string         `json:"group_id"`
	New      int            `json:"new"`
	Known    int            `json:"known"`             // stored already; left as they were
	Changed  int            `json:"changed,omitempty"` // of these: the text is another one now
	SameID   int            `json:"same_id,omitempty"` // had the id of another message, and got one of their own
	Erased   int            `json:"erased,omitempty"`  // forgotten with their author; they do not come in again
	Filtered map[Filter]int `json:"filtered,omitempty"`
	Bad      []BadLine      `json:"bad,omitempty"` // the first ones; see BadCount
	BadCount int            `json:"bad_count"`
	ChangeResult
}

// MessageChanged is what became of the change of one message.
type MessageChanged struct {
	Success   bool   `json:"success"`
	GroupID   string `json:"group_id"`
	MessageID string `json:"id"`
	ChangeResult
}

// BadLine is a line that was not taken, and why.
type BadLine struct {
	Line   int    `json:"line"` // counts from 1
	Reason string `json:"reason"`
}

// CostQuery asks what models have cost, by day, group and model.
type CostQuery struct {
	GroupID      string    // "" = all
	Since, Until time.Time // half-open; zero values are no bound
	Limit        int       // rows at most, of each of the parts
}

// CostsReply says what models have cost.
type CostsReply struct {
	Success bool      `json:"success"`
	GroupID string    `json:"group_id,omitempty"`
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"`
	Total   Spend     `json:"total"`
	Days    []Cost    `json:"days"`          // in UTC, oldest first, days without calls left out
	Groups  []Cost    `json:"groups"`        // dearest first
	Models  []Cost    `json:"models"`        // dearest first, by provider/model and purpose
	Cut     bool      `json:"cut,omitempty"` // there are earlier days, or cheaper groups or models
}

// Cost is what calls of one day, group or model have cost together.
type Cost struct {
	Date    string `json:"date,omitempty"`
	GroupID string `db:"group_id" json:"group_id,omitempty"`
	Model   string `json:"model,omitempty"`
	Tier    string `json:"tier,omitempty"` // of a model: standard, flex, batch or off_peak
	Purpose string `json:"purpose,omitempty"`
	Failed  int    `json:"failed"` // of the calls: their outcome was not ok
	Spend
}

// NightsReply is what became of a group's memories night by night.
type NightsReply struct {
	Success bool    `json:"success"`
	GroupID string  `json:"group_id"`
	Nights  []Night `json:"nights"`         // newest first
	More    bool    `json:"more,omitempty"` // there are older ones
	Next    string  `json:"next,omitempty"` // the date to go on before, where there are older ones
	Cut     bool    `json:"cut,omitempty"`  // there are more runs or changes of them than an answer holds
}

// Night is a date of the group's own calendar, and what was done to its memories: by the
// runs that were for it, by those that were for no date and began on it, and by persons.
type Night struct {
	Date     string     `json:"date"`
	Since    time.Time  `json:"since"`
	Until    time.Time  `json:"until"`    // exclusive
	Stats    Stats      `json:"stats"`    // of its runs together, but for those that were taken back and for impressions
	Runs     []RunEntry `json:"runs"`     // newest first
	Changes  []Change   `json:"changes"`  // newest first
	Archived int        `json:"archived"` // by maintenance, on this date
}

// Proposal is what an agent wants to be remembered, or forgotten. It waits for a person.
type Proposal struct {
	GroupID   string
	Action    Action // create, update or delete
	MemoryID  string // the head that is to be updated or deleted
	Statement string // create, update
	Reason    string
	Evidence  []Evidence // message ids, with quotes where they are known
	By        string     // who proposes: the name of its token
}

// ProposalReply names the run that holds a proposal.
type ProposalReply struct {
	Success bool      `json:"success"`
	GroupID string    `json:"group_id"`
	RunID   string    `json:"run_id"`
	Status  RunStatus `json:"status"` // held
	Message string    `json:"message"`
}

// Recalled is how a context came about: every memory that was near enough to be ranked,
// and what became of it.
type Recalled struct {
	ContextReply
	Trigger       string            `json:"trigger"`        // that decides whether memories are looked up: see Skipped
	MinSimilarity float64           `json:"min_similarity"` // that a candidate must reach
	Candidates    []RecallCandidate `json:"candidates"`     // best first, then those below
}

// RecallCandidate is a memory that was looked at for a context.
type RecallCandidate struct {
	ContextMemory
	Words float64 `json:"words"` // share of the query's words that it has, 0..1: a part of its similarity
	// Fate is offered, or why it was not: repeats (a better one says the same), own_summary
	// (it sums up the session itself), beyond_count
	// (max_return), beyond_tokens (max_tokens), not_similar (semantic_threshold), below
	// (min_similarity).
	Fate string `json:"fate"`
}
