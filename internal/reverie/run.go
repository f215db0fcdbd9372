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
	JobImpression Job = "impression" // who is who: after evolve, on the messages that it has consumed
	JobExtract    Job = "extract"    // a session's facts and summary, and its short-term memory
	JobSummarize  Job = "summarize"  // has no runs: it marks messages that a rolling summary covers
	JobDream      Job = "dream"      // what sessions and nights have left, condensed
	JobMaintain   Job = "maintain"   // archive, retention
	JobPropose    Job = "propose"    // what an agent would have remembered or forgotten: held from the beginning
)

// Jobs are those that a run can be of.
var Jobs = []Job{JobEvolve, JobImpression, JobExtract, JobDream, JobMaintain, JobPropose}

// RunStatus is how a run stands.
type RunStatus string

// The statuses of a run.
const (
	RunRunning   RunStatus = "running"
	RunSucceeded RunStatus = "succeeded"
	RunHeld      RunStatus = "held"     // applied, but a plan or a line waits for a person
	RunDeferred  RunStatus = "deferred" // a passing fault; messages pending
	RunFailed    RunStatus = "failed"
	RunRejected  RunStatus = "rejected" // a person refused what it held
)

// RunStatuses are all statuses.
var RunStatuses = []RunStatus{RunRunning, RunSucceeded, RunHeld, RunDeferred, RunFailed, RunRejected}

// EndOf is the status of a run that ended with an error, or without one and with so
// much that waits for a person.
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

// Stats counts what a run did. Its JSON is part of the run row and, split in
// two, of the API's reply.
type Stats struct {
	Kept       int `json:"kept"` // heads active when the run began and unchanged at its end
	Updated    int `json:"updated"`
	Created    int `json:"created"`
	Deleted    int `json:"deleted"`
	Refused    int `json:"refused"`
	Held       int `json:"held"`
	Cited      int `json:"cited"`
	Considered int `json:"considered"`
	Filtered   int `json:"filtered"`
	Cut        int `json:"cut,omitempty"` // messages of which only the beginning was read: see [MaxMessageShown]
	Deferred   int `json:"deferred"`      // messages of the window still pending at the end
	Chunks     int `json:"chunks"`
	Compared   int `json:"compared,omitempty"`  // questions asked to compare facts with memories
	Postponed  int `json:"postponed,omitempty"` // observations that wait to be sure whom they are about
	Folded     int `json:"folded,omitempty"`    // messages that a rolling summary covers now
	Archived   int `json:"archived,omitempty"`  // memories
	Pruned     int `json:"pruned,omitempty"`    // rows whose text was removed, or that were counted and removed
	Sessions   int `json:"sessions,omitempty"`  // that a dream covers
	Material   int `json:"material,omitempty"`  // memory versions that a dream took in, each for the first time
	Batches    int `json:"batches,omitempty"`   // questions that those were put in
	Asked      int `json:"asked,omitempty"`     // questions of a dream in all, not those that compare
	// Base and Rewritten are what the limit on deletes and rewrites is counted
	// with: active memories when the run began, and how many of those it has
	// deleted or rewritten. Closed is how many of Rewritten are todos that a dream has closed.
	Base      int `json:"base"`
	Rewritten int `json:"rewritten"`
	Closed    int `json:"closed,omitempty"`
	// Limit is how many messages a chunk of the run may have by now, 0 while
	// none was asked about: cut-off answers halve it. OpenEnded says that the
	// window's end came from the clock. A run that is taken up again needs both.
	Limit     int  `json:"limit,omitempty"`
	OpenEnded bool `json:"open_ended,omitempty"`
	// Days of messages that were shown again as context: a replay shows them, too.
	Days int `json:"days,omitempty"`
	// Unanswered says that nothing of a session was answered when its run began:
	// then what users say is taken without an answer.
	Unanswered bool `json:"unanswered,omitempty"`
	// Through says that all has been taken of a session that was to be: what its run
	// may still fail at is the fold.
	Through bool `json:"through,omitempty"`
	// Plan is the hash of the plan file that was applied, "" where none was. Edited says
	// that a person changed it, or what the run held, before. Runs of today set neither it
	// nor Approved: both are read for old runs.
	Plan   string `json:"plan,omitempty"`
	Edited bool   `json:"edited,omitempty"`
	// Approved is how many steps of that plan a person let pass that would have been held.
	Approved int `json:"approved,omitempty"`
}

// Add adds what another run counts: all but Base, Rewritten and Closed, which are one run's.
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

// Run is one attempt at one job for one group and window: the ledger row that
// everything else points to.
type Run struct {
	GroupID       string     `db:"group_id" json:"group_id"`
	ID            string     `db:"run_id" json:"run_id"`
	Job           Job        `db:"job" json:"job"`
	SessionID     string     `db:"session_id" json:"session_id,omitempty"` // of a run on one session; of a dream, the last one that it covers
	WindowSince   time.Time  `db:"window_since" json:"window_since"`
	WindowUntil   time.Time  `db:"window_until" json:"window_until"` // exclusive
	Status        RunStatus  `db:"status" json:"status"`
	Attempt       int        `db:"attempt" json:"attempt"` // counts from 1 for the same job and window
	Model         string     `db:"model" json:"model"`     // provider/model
	PromptVersion string     `db:"prompt_version" json:"prompt_version"`
	PromptSHA256  string     `db:"prompt_sha256" json:"prompt_sha256"`
	Stats         Stats      `db:"stats" json:"stats"`
	Error         string     `db:"error" json:"error,omitempty"`
	StartedAt     time.Time  `db:"started_at" json:"started_at"`
	FinishedAt    *time.Time `db:"finished_at" json:"finished_at"`
	UndoneAt      *time.Time `db:"undone_at" json:"undone_at,omitempty"` // its work was taken back: see [UndoQuery]
}

// ChunkStatus is how far a chunk came.
type ChunkStatus string

// The statuses of a chunk. Answered is the one that saves a second bill: the
// next run takes it up again.
const (
	ChunkOpen     ChunkStatus = "open"     // messages chosen, model not yet heard
	ChunkAnswered ChunkStatus = "answered" // answer stored, not yet applied
	ChunkApplied  ChunkStatus = "applied"
	ChunkHeld     ChunkStatus = "held" // consumed; its whole plan waits for a person
	ChunkFailed   ChunkStatus = "failed"
)

// Chunk is the unit of commit: some messages of a run, in order, or memories, and
// the model's answer to them.
type Chunk struct {
	GroupID     string      `db:"group_id" json:"-"`
	RunID       string      `db:"run_id" json:"-"`
	No          int         `db:"chunk_no" json:"chunk_no"`         // counts from 1
	InputSHA256 string      `db:"input_sha256" json:"input_sha256"` // of model and rendered prompt
	MessageIDs  []string    `db:"message_ids" json:"message_ids"`
	MemoryIDs   []string    `db:"memory_ids" json:"memory_ids,omitempty"` // versions: of a dream, what it is about; of evolve, what was shown as m1..mN
	Answer      string      `db:"answer" json:"answer"`
	Status      ChunkStatus `db:"status" json:"status"`
	Refusals    []Refusal   `db:"refusals" json:"refusals"`
	Limit       int         `db:"-" json:"-"`          // kept in the run's stats when the chunk is saved
	CreatedAt   time.Time   `db:"created_at" json:"-"` // when it was first saved: before the model was asked; kept by the store
	Call        *Call       `db:"-" json:"-"`          // that was answered with it, and is written with it; nil: none is
}

// Lease is the right to write a group: one holder at a time, for every kind of
// run. Fence rises with each holder, so that one which overslept cannot write.
type Lease struct {
	GroupID   string
	Name      string // LeaseGroup
	Holder    string // host:pid:something, for people to read
	Fence     int64
	ExpiresAt time.Time // on the database's clock
	// TakenOver tells that the holder before did not release it: its time ran out.
	TakenOver bool
	// Quiet tells that no change of the group's messages waited when it was taken.
	Quiet bool
	// GiveBack, where nothing is done under the lease behind the run that is under way, is set by
	// what ends that run if it has released the lease as well. nil: more is done.
	GiveBack *bool
}

// LeaseGroup is the name of the one lease of a group.
const LeaseGroup = "group"

// How long a lease lives unless renewed, and how often it is renewed.
const (
	LeaseTTL   = 15 * time.Second
	LeaseRenew = 5 * time.Second
)

// Call is one request to a model, failed and retried ones included: a row of
// llm_calls.
type Call struct {
	GroupID      string        `db:"group_id" json:"group_id"`
	RunID        *string       `db:"run_id" json:"run_id"` // nil for a dry run or a search
	ID           string        `db:"call_id" json:"call_id"`
	Purpose      string        `db:"purpose" json:"purpose"` // evolve, embed, ...
	Provider     string        `db:"provider" json:"provider"`
	Model        string        `db:"model" json:"model"`
	InputTokens  int           `db:"input_tokens" json:"input_tokens"`
	OutputTokens int           `db:"output_tokens" json:"output_tokens"`
	CachedTokens int           `db:"cached_tokens" json:"cached_tokens"` // of input_tokens
	Tier         string        `db:"tier" json:"tier"`                   // standard, flex or batch
	CostUSD      float64       `db:"cost_usd" json:"cost_usd"`
	Latency      time.Duration `db:"-" json:"-"`             // stored as latency_ms
	Outcome      string        `db:"outcome" json:"outcome"` // ok, truncated, refused, rate_limited, server_error, timeout, ...
	CreatedAt    time.Time     `db:"created_at" json:"created_at"`
}

type keeperKey struct{}

// KeepingCalls returns a context in which the row of a call that was answered is handed to keep,
// who has it written with the answer, or by itself where that cannot be kept.
func KeepingCalls(ctx context.Context, keep func(Call)) context.Context {
	return context.WithValue(ctx, keeperKey{}, keep)
}

// Keep hands the call to whoever keeps those of the context, if anybody does.
func (c Call) Keep(ctx context.Context) bool {
	keep, _ := ctx.Value(keeperKey{}).(func(Call))
	if keep == nil || c.Outcome != "ok" {
		return false
	}
	keep(c)
	return true
}

// RunEffect is what a run did to a lineage, or would have done if a person let it: a change,
// or support, which is no change.
type RunEffect struct {
	ChunkNo      int       `db:"chunk_no"`
	Action       Action    `db:"action"` // create, update, delete; keep is support
	LineageID    string    `db:"lineage_id"`
	MemoryID     string    `db:"memory_id"` // the version after it; of what ended or was supported, the one that was
	OldStatement string    `db:"old_statement"`
	NewStatement string    `db:"new_statement"` // "" of what ended
	Held         bool      `db:"-"`             // it waits for a person, or waited
	At           time.Time `db:"created_at"`
}

// Spend is what calls to models have cost.
type Spend struct {
	Calls        int     `db:"calls" json:"calls"`
	InputTokens  int     `db:"input_tokens" json:"input_tokens"`
	OutputTokens int     `db:"output_tokens" json:"output_tokens"`
	CachedTokens int     `db:"cached_tokens" json:"cached_tokens"` // of input_tokens
	CostUSD      float64 `db:"cost_usd" json:"cost_usd"`
}

// Add counts one call.
func (s *Spend) Add(c Call) {
	*s = s.Plus(Spend{1, c.InputTokens, c.OutputTokens, c.CachedTokens, c.CostUSD})
}

// Plus is both together.
func (s Spend) Plus(o Spend) Spend {
	return Spend{Calls: s.Calls + o.Calls, InputTokens: s.InputTokens + o.InputTokens,
		OutputTokens: s.OutputTokens + o.OutputTokens, CachedTokens: s.CachedTokens + o.CachedTokens,
		CostUSD: s.CostUSD + o.CostUSD}
}

// RunEntry is a run in a list, with what it has spent.
type RunEntry struct {
	Run
	Spend Spend `json:"spend"`
}

// Window is a half-open interval [Since, Until) of sent_at. A nightly one is a
// date of the group's own calendar; one that a person asked for need not be.
type Window struct {
	Date  string    `json:"date,omitempty"` // YYYY-MM-DD, "" for one that is no date
	Since time.Time `json:"since"`          // zero: from the first pending message on
	Until time.Time `json:"until"`          // zero: up to now, whenever that is
	// SessionID narrows it down to one session; "" is all messages.
	SessionID string `json:"session_id,omitempty"`
}

// WindowLoad is a window with the pending messages in it.
type WindowLoad struct {
	Window
	Messages   int `json:"messages"`
	Characters int `json:"characters"` // of their texts
	Bytes      int `json:"bytes"`      // of their texts, in UTF-8
}

// DueGroup is a group with pending messages, and what a job must know before it
// works on it.
type DueGroup struct {
	Group
	FirstPending time.Time // sent_at of the oldest pending message
	Setback      *Setback  // nil: the job's last run of the group did not fail
}

// DueQuery selects groups with pending messages, by id.
type DueQuery struct {
	Job     Job
	GroupID string // "" = all; one that is named is found paused or not
	After   string // only ids after this one
	Limit   int    // 0 = no limit
}

// Setback is what repeated failure of a job has led to for a group.
type Setback struct {
	GroupID   string     `db:"group_id" json:"-"`
	Job       Job        `db:"job" json:"job"`
	SessionID string     `db:"-" json:"session_id,omitempty"`        // where it is that session's alone
	Failures  int        `db:"failures" json:"failures"`             // in a row
	Error     string     `db:"error" json:"error"`                   // of the last one
	RetryAt   time.Time  `db:"retry_at" json:"retry_at"`             // not before, unless a person says so
	ParkedAt  *time.Time `db:"parked_at" json:"parked_at,omitempty"` // set: not until a person says so
	UpdatedAt time.Time  `db:"updated_at" json:"updated_at,omitzero"`
}

// MaxRetryAfter is the longest that anything is left alone after a failure, whatever is
// configured. A retry that is further ahead is of before a clock was set back: it is due.
const MaxRetryAfter = 7 * 24 * time.Hour

// LeftAlone tells whether what is tried again at retry is not tried yet.
func LeftAlone(retry, now time.Time) bool {
	return retry.After(now) && !retry.After(now.Add(MaxRetryAfter))
}

// ParkRule says how long a group is left alone after a failure of a job, and
// when it is left to a person.
type ParkRule struct {
	After         int           // failures in a row after which it is parked
	RetryAfter    time.Duration // after the first failure; each further one doubles it
	MaxRetryAfter time.Duration // but never longer than this
}

// Next is what one more failure, at that instant, makes of a setback. The zero
// Setback stands for none so far. One that is parked stays so.
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
