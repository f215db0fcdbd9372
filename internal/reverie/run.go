package reverie

import (
	"context"
	"time"
)

// Job names the kinds of run.
type Job string

// The jobs.
const (
	JobEvolve     Job = "evolve"
	JobImpression Job = "impression" // people and things: runs after evolve, on the messages that evolve consumed
	JobExtract    Job = "extract"    // a session's facts and summary, and its short-term memory
	JobSummarize  Job = "summarize"  // has no runs: it marks messages covered by a rolling summary
	JobDream      Job = "dream"      // condenses the results of sessions and nights
	JobMaintain   Job = "maintain"   // archives, and applies retention
	JobPropose    Job = "propose"    // an agent's proposal: held from the start
)

// Jobs are all jobs that have runs.
var Jobs = []Job{JobEvolve, JobImpression, JobExtract, JobDream, JobMaintain, JobPropose}

// RunStatus is how a run stands.
type RunStatus string

// The statuses of a run.
const (
	RunRunning   RunStatus = "running"
	RunSucceeded RunStatus = "succeeded"
	RunHeld      RunStatus = "held"     // applied, but a plan or a line is held for a person
	RunDeferred  RunStatus = "deferred" // a transient fault; messages stay pending
	RunFailed    RunStatus = "failed"
	RunRejected  RunStatus = "rejected" // a person rejected what it held
)

// RunStatuses are all statuses.
var RunStatuses = []RunStatus{RunRunning, RunSucceeded, RunHeld, RunDeferred, RunFailed, RunRejected}

// EndOf returns the final status of a run from its error and its number of held steps.
func EndOf(err error, held int) RunStatus {
	switch {
	case err == nil && held > 0:
		return RunHeld
	case err == nil:
		return RunSucceeded
	case Passing(err):
		return RunDeferred
	}
	return RunFailed
}

// Stats counts what a run did. Its JSON is part of the run's row and, split in two, of the API's reply.
type Stats struct {
	Kept       int `json:"kept"` // heads active at the start of the run and unchanged at its end
	Updated    int `json:"updated"`
	Created    int `json:"created"`
	Deleted    int `json:"deleted"`
	Refused    int `json:"refused"`
	Held       int `json:"held"`
	Cited      int `json:"cited"`
	Considered int `json:"considered"`
	Filtered   int `json:"filtered"`
	Cut        int `json:"cut,omitempty"` // messages read only in part: see [MaxMessageShown]
	Deferred   int `json:"deferred"`      // messages of the window still pending at the end
	Chunks     int `json:"chunks"`
	Compared   int `json:"compared,omitempty"`  // questions that compared facts with memories
	Postponed  int `json:"postponed,omitempty"` // observations that wait until their subject is certain
	Folded     int `json:"folded,omitempty"`    // messages newly covered by a rolling summary
	Archived   int `json:"archived,omitempty"`  // memories
	Pruned     int `json:"pruned,omitempty"`    // rows whose text was removed, or that were counted and removed
	Sessions   int `json:"sessions,omitempty"`  // sessions that a dream covers
	Material   int `json:"material,omitempty"`  // memory versions that a dream used for the first time
	Batches    int `json:"batches,omitempty"`   // questions that these were divided into
	Asked      int `json:"asked,omitempty"`     // all questions of a dream, except comparing ones
	// Base and Rewritten are for the limit on deletes and updates: active memories at the start of the run, and how
	// many of them it deleted or updated. Closed counts the todos among Rewritten that a dream has closed.
	Base      int `json:"base"`
	Rewritten int `json:"rewritten"`
	Closed    int `json:"closed,omitempty"`
	// Limit is the current maximum of messages per chunk, 0 before the first question: truncated answers halve it.
	// OpenEnded says that the clock set the end of the window. A run that resumes needs both.
	Limit     int  `json:"limit,omitempty"`
	OpenEnded bool `json:"open_ended,omitempty"`
	// Days counts the days of messages shown again as context, so that a replay shows them too.
	Days int `json:"days,omitempty"`
	// Unanswered says that no message of the session was answered when the run began. Then facts are extracted from
	// users' messages without an answer.
	Unanswered bool `json:"unanswered,omitempty"`
	// Through says that the session is fully extracted: only the fold can still fail.
	Through bool `json:"through,omitempty"`
	// Plan is the hash of the applied plan file, "" if there was none. Edited says that a person edited it, or edited
	// what the run held. Current runs set neither Edited nor Approved: they are read from old runs.
	Plan   string `json:"plan,omitempty"`
	Edited bool   `json:"edited,omitempty"`
	// Approved counts the steps of that plan that a person approved and that would have been held.
	Approved int `json:"approved,omitempty"`
}

// Add adds the counts of another run, except Base, Rewritten and Closed, which belong to one run.
func (s *Stats) Add(o Stats) {
	for _, n := range []struct{ to, from *int }{
		{&s.Kept, &o.Kept}, {&s.Updated, &o.Updated}, {&s.Created, &o.Created}, {&s.Deleted, &o.Deleted}, {&s.Refused, &o.Refused},
		{&s.Held, &o.Held}, {&s.Cited, &o.Cited}, {&s.Considered, &o.Considered}, {&s.Filtered, &o.Filtered}, {&s.Cut, &o.Cut}, {&s.Deferred, &o.Deferred},
		{&s.Chunks, &o.Chunks}, {&s.Compared, &o.Compared}, {&s.Postponed, &o.Postponed}, {&s.Folded, &o.Folded},
		{&s.Archived, &o.Archived}, {&s.Pruned, &o.Pruned}, {&s.Sessions, &o.Sessions},
		{&s.Material, &o.Material}, {&s.Approved, &o.Approved}, {&s.Batches, &o.Batches}, {&s.Asked, &o.Asked},
	} {
		*n.to += *n.from
	}
}

// Run is one attempt at one job for one group and window. All other records of a run refer to this row.
type Run struct {
	GroupID string `db:"group_id" json:"group_id"`
	ID      string `db:"run_id" json:"run_id"`
	Job     Job    `db:"job" json:"job"`
	// Of a run on one session; for a dream, the last session that it covers.
	SessionID     string     `db:"session_id" json:"session_id,omitempty"`
	WindowSince   time.Time  `db:"window_since" json:"window_since"`
	WindowUntil   time.Time  `db:"window_until" json:"window_until"` // exclusive
	Status        RunStatus  `db:"status" json:"status"`
	Attempt       int        `db:"attempt" json:"attempt"` // counts from 1 for each job and window
	Model         string     `db:"model" json:"model"`     // provider/model
	PromptVersion string     `db:"prompt_version" json:"prompt_version"`
	PromptSHA256  string     `db:"prompt_sha256" json:"prompt_sha256"`
	Stats         Stats      `db:"stats" json:"stats"`
	Error         string     `db:"error" json:"error,omitempty"`
	StartedAt     time.Time  `db:"started_at" json:"started_at"`
	FinishedAt    *time.Time `db:"finished_at" json:"finished_at"`
	UndoneAt      *time.Time `db:"undone_at" json:"undone_at,omitempty"` // when it was undone: see [UndoQuery]
}

// ChunkStatus is the state of a chunk.
type ChunkStatus string

// The statuses of a chunk. A run that resumes applies an answered chunk without asking, and paying, again.
const (
	ChunkOpen     ChunkStatus = "open"     // messages chosen, no answer yet
	ChunkAnswered ChunkStatus = "answered" // answer stored, not applied yet
	ChunkApplied  ChunkStatus = "applied"
	ChunkHeld     ChunkStatus = "held" // messages consumed; the whole plan is held for a person
	ChunkFailed   ChunkStatus = "failed"
)

// Chunk is the unit of commit: some messages of a run, in order, or memories, with the model's answer.
type Chunk struct {
	GroupID     string   `db:"group_id" json:"-"`
	RunID       string   `db:"run_id" json:"-"`
	No          int      `db:"chunk_no" json:"chunk_no"`         // counts from 1
	InputSHA256 string   `db:"input_sha256" json:"input_sha256"` // of model and rendered prompt
	MessageIDs  []string `db:"message_ids" json:"message_ids"`
	// Versions: the material of a dream; for evolve, what was shown as m1..mN.
	MemoryIDs []string    `db:"memory_ids" json:"memory_ids,omitempty"`
	Answer    string      `db:"answer" json:"answer"`
	Status    ChunkStatus `db:"status" json:"status"`
	Refusals  []Refusal   `db:"refusals" json:"refusals"`
	Limit     int         `db:"-" json:"-"` // stored in the run's stats when the chunk is saved
	// When the chunk was first saved, before the model was asked; the store sets it.
	CreatedAt time.Time `db:"created_at" json:"-"`
	// The answered call, which is written together with the answer; nil: none.
	Call *Call `db:"-" json:"-"`
}

// Lease is the right to write to a group: it has one holder at a time, for runs of all jobs. Fence increases with
// each holder, so that a holder whose lease has expired cannot write.
type Lease struct {
	GroupID   string
	Name      string // LeaseGroup
	Holder    string // host:pid, for people to read
	Fence     int64
	ExpiresAt time.Time // on the database's clock
	// TakenOver says that the previous holder's lease expired and was not released.
	TakenOver bool
	// Quiet says that no message change of the group was queued when the lease was acquired.
	Quiet bool
	// GiveBack is not nil if nothing follows the current run under this lease. The store sets it if it releases the
	// lease when it ends that run. nil: more work follows.
	GiveBack *bool
}

// LeaseGroup is the name of the one lease of a group.
const LeaseGroup = "group"

// How long a lease is valid unless renewed, and how often it is renewed.
const (
	LeaseTTL   = 15 * time.Second
	LeaseRenew = 5 * time.Second
)

// Call is one request to a model, including failed and retried ones: a row of llm_calls.
type Call struct {
	GroupID      string        `db:"group_id" json:"group_id"`
	RunID        *string       `db:"run_id" json:"run_id"` // nil for a dry run or a search
	ID           string        `db:"call_id" json:"call_id"`
	Purpose      string        `db:"purpose" json:"purpose"` // evolve, embed, ...
	Provider     string        `db:"provider" json:"provider"`
	Model        string        `db:"model" json:"model"`
	InputTokens  int           `db:"input_tokens" json:"input_tokens"`
	OutputTokens int           `db:"output_tokens" json:"output_tokens"`
	CachedTokens int           `db:"cached_tokens" json:"cached_tokens"` // part of input_tokens
	Tier         string        `db:"tier" json:"tier"`                   // standard, flex or batch
	CostUSD      float64       `db:"cost_usd" json:"cost_usd"`
	Latency      time.Duration `db:"-" json:"-"`             // stored as latency_ms
	Outcome      string        `db:"outcome" json:"outcome"` // ok, truncated, refused, rate_limited, server_error, timeout, ...
	CreatedAt    time.Time     `db:"created_at" json:"created_at"`
}

type keeperKey struct{}

// KeepingCalls returns a context in which successful calls are passed to keep, not written at once. keep must write
// the row with the answer, or by itself if the answer cannot be stored.
func KeepingCalls(ctx context.Context, keep func(Call)) context.Context {
	return context.WithValue(ctx, keeperKey{}, keep)
}

// Keep passes a successful call to the context's keep function. It returns false if there is none or the call
// failed.
func (c Call) Keep(ctx context.Context) bool {
	keep, _ := ctx.Value(keeperKey{}).(func(Call))
	if keep == nil || c.Outcome != "ok" {
		return false
	}
	keep(c)
	return true
}

// RunEffect is what a run did to a lineage, or would do if a person approved it: a change, or support.
type RunEffect struct {
	ChunkNo      int       `db:"chunk_no"`
	Action       Action    `db:"action"` // create, update, delete; keep is support
	LineageID    string    `db:"lineage_id"`
	MemoryID     string    `db:"memory_id"` // the version after it, or the version that ended or was supported
	OldStatement string    `db:"old_statement"`
	NewStatement string    `db:"new_statement"` // "" if the lineage ended
	Held         bool      `db:"-"`             // it is or was held for a person
	At           time.Time `db:"created_at"`
}

// Spend is the cost of calls to models.
type Spend struct {
	Calls        int     `db:"calls" json:"calls"`
	InputTokens  int     `db:"input_tokens" json:"input_tokens"`
	OutputTokens int     `db:"output_tokens" json:"output_tokens"`
	CachedTokens int     `db:"cached_tokens" json:"cached_tokens"` // part of input_tokens
	CostUSD      float64 `db:"cost_usd" json:"cost_usd"`
}

// Add adds one call.
func (s *Spend) Add(c Call) {
	*s = s.Plus(Spend{1, c.InputTokens, c.OutputTokens, c.CachedTokens, c.CostUSD})
}

// Plus returns the sum.
func (s Spend) Plus(o Spend) Spend {
	return Spend{Calls: s.Calls + o.Calls, InputTokens: s.InputTokens + o.InputTokens,
		OutputTokens: s.OutputTokens + o.OutputTokens, CachedTokens: s.CachedTokens + o.CachedTokens,
		CostUSD: s.CostUSD + o.CostUSD}
}

// RunEntry is a run in a list, with its cost.
type RunEntry struct {
	Run
	Spend Spend `json:"spend"`
}

// Window is a half-open interval [Since, Until) of sent_at. A nightly window is a date of the group's own calendar;
// a person may ask for any other.
type Window struct {
	Date  string    `json:"date,omitempty"` // YYYY-MM-DD, "" if the window is not a date
	Since time.Time `json:"since"`          // zero: from the first pending message
	Until time.Time `json:"until"`          // zero: up to now
	// SessionID limits the window to one session; "" is all messages.
	SessionID string `json:"session_id,omitempty"`
}

// WindowLoad is a window and the size of its pending messages.
type WindowLoad struct {
	Window
	Messages   int `json:"messages"`
	Characters int `json:"characters"` // of their texts
	Bytes      int `json:"bytes"`      // of their texts, in UTF-8
}

// DueGroup is a group with pending messages, and what a job needs to know before it starts.
type DueGroup struct {
	Group
	FirstPending time.Time // sent_at of the oldest pending message
	Setback      *Setback  // nil: the job's last run in the group did not fail
}

// DueQuery selects groups with pending messages, by id.
type DueQuery struct {
	Job     Job
	GroupID string // "" = all; a named group is selected even if paused
	After   string // only ids after this one
	Limit   int    // 0 = no limit
}

// Setback is the failure state of a job in a group.
type Setback struct {
	GroupID   string     `db:"group_id" json:"-"`
	Job       Job        `db:"job" json:"job"`
	SessionID string     `db:"-" json:"session_id,omitempty"`        // set if it concerns only that session
	Failures  int        `db:"failures" json:"failures"`             // consecutive failures
	Error     string     `db:"error" json:"error"`                   // of the last one
	RetryAt   time.Time  `db:"retry_at" json:"retry_at"`             // not before then, unless a person asks
	ParkedAt  *time.Time `db:"parked_at" json:"parked_at,omitempty"` // set: suspended until a person resumes it
	UpdatedAt time.Time  `db:"updated_at" json:"updated_at,omitzero"`
}

// MaxRetryAfter bounds the delay of every retry, whatever is configured. A retry time further in the future was set
// before a clock was set back, and counts as due.
const MaxRetryAfter = 7 * 24 * time.Hour

// LeftAlone reports whether it is too early for a retry that is due at retry.
func LeftAlone(retry, now time.Time) bool {
	return retry.After(now) && !retry.After(now.Add(MaxRetryAfter))
}

// ParkRule says how long a job of a group is delayed after a failure, and when it is suspended.
type ParkRule struct {
	After         int           // consecutive failures after which the job is suspended
	RetryAfter    time.Duration // after the first failure; each further one doubles it
	MaxRetryAfter time.Duration // maximum of the delay
}

// Next returns the failure state after one more failure. The zero Setback means no failure so far. A suspended job
// stays suspended.
func (r ParkRule) Next(s Setback, reason string, at time.Time) Setback {
	s.Failures++
	s.Error = reason
	delay := r.RetryAfter
	for n := 1; n < s.Failures && 0 < delay && delay < r.MaxRetryAfter; n++ {
		delay *= 2
	}
	s.RetryAt = at.Add(min(delay, r.MaxRetryAfter))
	if s.ParkedAt == nil && s.Failures >= r.After {
		s.ParkedAt = &at
	}
	s.UpdatedAt = at
	return s
}
