package llm

import (
	"context"
	"time"
)

// Batcher submits many questions at once. The provider answers them within a day, at [TierBatch]'s price. Each
// method makes one call or a few, without retries; its errors are *[Error]. A batch that the provider no longer
// knows is [FaultNotFound].
type Batcher interface {
	// SubmitBatch submits questions and returns the provider's id of the batch. After an error it is unknown whether
	// the batch was created: see FindBatch.
	SubmitBatch(ctx context.Context, s BatchSubmission, questions []BatchQuestion) (id string, err error)
	// FindBatch searches a batch that was submitted but whose id never arrived; "" if there is none. mine reports
	// whether the id of a question belongs to this submission; known reports whether a batch belongs to another
	// submission. While the result is uncertain, the error is a [reverie.ErrDeferred].
	FindBatch(ctx context.Context, s BatchSubmission, mine, known func(id string) bool) (id string, err error)
	// BatchState returns the state of a batch.
	BatchState(ctx context.Context, id string) (BatchState, error)
	// BatchAnswers passes each available answer to each, in any order, also those of a cancelled or expired batch. It
	// stops at the first error of each.
	BatchAnswers(ctx context.Context, id string, each func(BatchAnswer) error) error
	// CancelBatch asks the provider to answer no further questions of a batch.
	CancelBatch(ctx context.Context, id string) error
	// DropBatch deletes the texts of an ended batch, if the provider would keep them for ever.
	DropBatch(ctx context.Context, id string) error
	// BatchLimits returns the bounds of one batch.
	BatchLimits() BatchLimits
}

// BatchSubmission identifies one attempt to submit a batch.
type BatchSubmission struct {
	Key       string // our unique id; sent to the provider if it can store one
	Questions int    // maximum number of questions
	// Minimum number of questions, if some were erased since the first submission; 0: equal to Questions.
	Least int
	At    time.Time // not later than the submission, by our clock
}

// Since returns a time on the provider's clock before which the batch cannot have been created.
func (s BatchSubmission) Since() time.Time { return s.At.Add(-time.Hour) }

// BatchQuestion is one question of a batch.
type BatchQuestion struct {
	ID      string // our unique id: letters, digits, - and _, 64 at most
	Request Request
}

// BatchAnswer is the result of one question: an answer, or why there is none.
type BatchAnswer struct {
	ID       string // of the question, as the provider returns it; "" if it cannot be read
	Response Response
	Err      error // an *[Error]; nil if there is an answer
}

// BatchState is the progress of a batch.
type BatchState struct {
	Phase     BatchPhase
	Done      int // answered questions
	Failed    int
	Total     int
	ExpiresAt time.Time // zero if the provider does not say
	Err       string    // why it failed, in the provider's words
	// Of a failed batch: after a transient fault, such as too many queued tokens, it may be submitted again.
	Fault Fault
}

// BatchPhase is the phase of a batch.
type BatchPhase string

// The phases of a batch. All but the first are final.
const (
	BatchRunning   BatchPhase = "running"
	BatchEnded     BatchPhase = "ended"
	BatchExpired   BatchPhase = "expired" // answers that came in time are available
	BatchCancelled BatchPhase = "cancelled"
	BatchFailed    BatchPhase = "failed" // refused as a whole: nothing was answered or paid for
)

// BatchLimits bound the number of questions of one batch, and their bytes as sent; 0 is no bound.
type BatchLimits struct {
	Questions int
	Bytes     int64
}
