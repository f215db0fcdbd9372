package reverie

import "time"

// BatchStatus is where a batch of questions stands.
type BatchStatus string

// The statuses of a batch. The first three are of one that is out.
const (
	BatchSubmitting BatchStatus = "submitting" // the provider's reply has not come
	BatchRunning    BatchStatus = "running"
	BatchCancelling BatchStatus = "cancelling"
	BatchEnded      BatchStatus = "ended"
	BatchExpired    BatchStatus = "expired"
	BatchCancelled  BatchStatus = "cancelled"
	BatchFailed     BatchStatus = "failed" // nothing of it was answered
)

// Batch is questions of any groups that were handed in together. Its id is the key under
// which the provider has got it.
type Batch struct {
	ID         string      `json:"batch_id" db:"batch_id"`
	Job        Job         `json:"job"`
	Model      string      `json:"model"` // provider/model
	ProviderID string      `json:"provider_id" db:"provider_id"`
	Status     BatchStatus `json:"status"`
	Questions  int         `json:"questions"`
	Tokens     int         `json:"tokens"` // of the questions, estimated
	Answered   int         `json:"answered"`
	Refused    int         `json:"refused"` // answers without their question's nonce
	Failed     int         `json:"failed"`
	Error      string      `json:"error,omitempty"`
	CreatedAt  time.Time   `json:"created_at" db:"created_at"`
	SentAt     time.Time   `json:"-" db:"sent_at"` // when it last was on its way to the provider
	EndedAt    *time.Time  `json:"ended_at" db:"ended_at"`
}

// QuestionStatus is what has become of a question that is asked in batches.
type QuestionStatus string

// The statuses of a question.
const (
	QuestionWaiting  QuestionStatus = "waiting"
	QuestionAgain    QuestionStatus = "again" // it has come to nothing, and may be asked once more
	QuestionAnswered QuestionStatus = "answered"
	QuestionFailed   QuestionStatus = "failed" // it cannot be answered as it is
	QuestionErased   QuestionStatus = "erased" // it is out, and nothing is kept of its answer but the cost
)

// BatchQuestion is a question of a run that is asked in a batch.
type BatchQuestion struct {
	GroupID     string `db:"group_id"`
	ID          string `db:"question_id"`
	RunID       string `db:"run_id"`
	InputSHA256 string `db:"input_sha256"`
	Nth         int    // of those that the run asks word for word alike
	Model       string // provider/model
	Purpose     string
	BatchID     *string `db:"batch_id"` // nil: in none yet
	Status      QuestionStatus
	Tries       int    // that have come to nothing
	Nonce       string // that the answer begins with
	Tokens      int    // estimated
	MaxTokens   int    `db:"max_tokens"`
	System      string `db:"system_text"` // "" once it is handed in, like User
	User        string `db:"user_text"`
	Answer      string
	Finish      string
	Fault       string
	CreatedAt   time.Time `db:"created_at"`
}

// BatchAnswer is what has become of a question of a batch, and the row of the call; nil
// where nothing was paid.
type BatchAnswer struct {
	Question BatchQuestion // with its status, answer, finish and fault
	Refused  bool          // it came without its question's nonce
	Call     *Call
}
