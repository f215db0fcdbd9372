package reverie

import "time"

// BatchStatus is the progress of a batch of questions.
type BatchStatus string

// The statuses of a batch. A batch with one of the first three is in progress.
const (
	BatchSubmitting BatchStatus = "submitting" // the batch is being sent; the provider has not replied
	BatchRunning    BatchStatus = "running"
	BatchCancelling BatchStatus = "cancelling"
	BatchEnded      BatchStatus = "ended"
	BatchExpired    BatchStatus = "expired"
	BatchCancelled  BatchStatus = "cancelled"
	BatchFailed     BatchStatus = "failed" // no question was answered
)

// Batch is a set of questions, of any groups, that are sent to a provider together. Its id is the idempotency key
// of the provider's request.
type Batch struct {
	ID         string      `json:"batch_id" db:"batch_id"`
	Job        Job         `json:"job"`
	Model      string      `json:"model"` // provider/model
	ProviderID string      `json:"provider_id" db:"provider_id"`
	Status     BatchStatus `json:"status"`
	Questions  int         `json:"questions"`
	Tokens     int         `json:"tokens"` // estimated tokens of all questions
	Answered   int         `json:"answered"`
	Refused    int         `json:"refused"` // answers that lack the nonce of their question
	Failed     int         `json:"failed"`
	Error      string      `json:"error,omitempty"`
	CreatedAt  time.Time   `json:"created_at" db:"created_at"`
	SentAt     time.Time   `json:"-" db:"sent_at"` // start of the last attempt to send it
	EndedAt    *time.Time  `json:"ended_at" db:"ended_at"`
}

// QuestionStatus is the state of a question that is asked in batches.
type QuestionStatus string

// The statuses of a question.
const (
	QuestionWaiting  QuestionStatus = "waiting"
	QuestionAgain    QuestionStatus = "again" // the last try failed; it may be asked once more
	QuestionAnswered QuestionStatus = "answered"
	QuestionFailed   QuestionStatus = "failed" // it cannot be answered, and is not asked again
	QuestionErased   QuestionStatus = "erased" // erased while in progress: only the cost of its answer is kept
)

// BatchQuestion is a question of a run that is asked in a batch.
type BatchQuestion struct {
	GroupID     string `db:"group_id"`
	ID          string `db:"question_id"`
	RunID       string `db:"run_id"`
	InputSHA256 string `db:"input_sha256"`
	Nth         int    // numbers the identical questions of a run
	Model       string // provider/model
	Purpose     string
	BatchID     *string `db:"batch_id"` // nil: not in a batch yet
	Status      QuestionStatus
	Tries       int    // failed tries
	Nonce       string // the answer must begin with it
	Tokens      int    // estimated
	MaxTokens   int    `db:"max_tokens"`
	System      string `db:"system_text"` // "" once the question is sent; the same holds for User
	User        string `db:"user_text"`
	Answer      string
	Finish      string
	Fault       string
	CreatedAt   time.Time `db:"created_at"`
}

// BatchAnswer is the result of one question of a batch. Call is its row of llm_calls, nil if nothing was paid.
type BatchAnswer struct {
	Question BatchQuestion // with status, answer, finish and fault
	Refused  bool          // the answer lacks the nonce of its question
	Call     *Call
}
