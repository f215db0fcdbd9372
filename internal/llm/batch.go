package llm

import (
	"context"
	"time"
)

// Batcher hands in many questions at once, which a provider answers within a day at
// [TierBatch]'s price. Each method makes one call or a few, without retries of its own;
// their errors are *[Error]. A batch that the provider does not know any more is
// [FaultNotFound].
type Batcher interface {
	// SubmitBatch hands in questions and returns the provider's id of the batch. An error
	// does not tell whether the batch was created: see FindBatch.
	SubmitBatch(ctx context.Context, s BatchSubmission, questions []BatchQuestion) (id string, err error)
	// FindBatch looks for a batch that was submitted, but whose id never arrived; "" where
	// there is none. mine tells whether one question's id is of this submission; known tells
	// the batches that are others' already. While it cannot be told yet, the error is a
	// [reverie.ErrDeferred].
	FindBatch(ctx context.Context, s BatchSubmission, mine, known func(id string) bool) (id string, err error)
	// BatchState looks at a batch.
	BatchState(ctx context.Context, id string) (BatchState, error)
	// BatchAnswers gives each answer that there is, in any order; also those of a batch that
	// was cancelled or has expired. It stops at the first error of each.
	BatchAnswers(ctx context.Context, id string, each func(BatchAnswer) error) error
	// CancelBatch asks that no further question of a batch be answered.
	CancelBatch(ctx context.Context, id string) error
	// DropBatch deletes the texts of a batch that has ended, where the provider would keep them
	// for good.
	DropBatch(ctx context.Context, id string) error
	// BatchLimits bound one batch.
	BatchLimits() BatchLimits
}

// BatchSubmission names one attempt to hand in a batch.
type BatchSubmission struct {
	Key       string    // ours, unique; the provider keeps it where it can
	Questions int       // at most
	Least     int       // fewer where some were erased since they were handed in first; 0: as many as Questions
	At        time.Time // not later than the submission, by our clock
}

// Since is the time, by the provider's clock, before which the batch cannot have been made.
func (s BatchSubmission) Since() time.Time { return s.At.Add(-time.Hour) }

// BatchQuestion is one question of a batch.
type BatchQuestion struct {
	ID      string // ours, unique: letters, digits, - and _, 64 at most
	Request Request
}

// BatchAnswer is what became of one question: an answer, or why there is none.
type BatchAnswer struct {
	ID       string // of the question, as the provider says; "" where it cannot be read
	Response Response
	Err      error // an *[Error]; nil with an answer
}

// BatchState is how far a batch is.
type BatchState struct {
	Phase     BatchPhase
	Done      int // questions answered
	Failed    int
	Total     int
	ExpiresAt time.Time // zero where the provider does not say
	Err       string    // why it failed, in the provider's words
	Fault     Fault     // of a failed batch: a passing one, such as too many tokens under way, may be handed in again
}

// BatchPhase is where a batch stands.
type BatchPhase string

// The phases of a batch. All but the first are its end.
const (
	BatchRunning   BatchPhase = "running"
	BatchEnded     BatchPhase = "ended"
	BatchExpired   BatchPhase = "expired" // the answers that came in time are there
	BatchCancelled BatchPhase = "cancelled"
	BatchFailed    BatchPhase = "failed" // refused as a whole: nothing was answered or paid for
)

// BatchLimits bound one batch, by its questions and by the bytes they are sent as; 0 is no
// bound.
type BatchLimits struct {
	Questions int
	Bytes     int64
}
