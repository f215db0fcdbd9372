package llmtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"reverie/internal/llm"
)

// Plan is what becomes of one batch. The zero value has answered every question when it is
// first looked at.
type Plan struct {
	Refusal *Answer                         // instead of a batch
	Lost    bool                            // the batch is made, and the connection breaks before the reply
	Full    bool                            // too many tokens are under way, as each provider says so
	Looks   int                             // how often it is found under way
	Takes   time.Duration                   // how long it is under way, by the server's clock
	Phase   llm.BatchPhase                  // its end; "" is llm.BatchEnded
	Why     string                          // it failed
	Skip    func(i int) bool                // questions that are not reached before its end
	Fail    func(i int) bool                // questions that the model fails on
	Arrange func(answers []Result) []Result // the answers as they are written
	Kept    time.Duration                   // how long it is known from its making on; 0 is for ever
}

// Result is what became of one question of a batch.
type Result struct {
	ID      string
	Skipped bool
	answer  Answer
	request Request
}

// Slow is a batch that is found under way some times.
func Slow(looks int) Plan { return Plan{Looks: looks} }

// Expired is a batch whose time is over when n questions are answered.
func Expired(n int) Plan {
	return Plan{Phase: llm.BatchExpired, Skip: func(i int) bool { return i >= n }}
}

// HalfFailed is a batch in which every other question fails.
func HalfFailed() Plan { return Plan{Fail: func(i int) bool { return i%2 == 1 }} }

// FailedBatch is a batch that is refused as a whole, after it was taken.
func FailedBatch(why string) Plan { return Plan{Phase: llm.BatchFailed, Why: why} }

// SwappedKeys is a batch in which each answer stands under the key of the next question.
func SwappedKeys() Plan {
	return Plan{Arrange: func(answers []Result) []Result {
		first := answers[0].ID
		for i := range answers[1:] {
			answers[i].ID = answers[i+1].ID
		}
		answers[len(answers)-1].ID = first
		return answers
	}}
}

// OutOfOrder is a batch whose last answer comes first.
func OutOfOrder() Plan {
	return Plan{Arrange: func(answers []Result) []Result {
		slices.Reverse(answers)
		return answers
	}}
}

// Doubled is a batch whose answers all come twice.
func Doubled() Plan {
	return Plan{Arrange: func(answers []Result) []Result { return append(answers, answers...) }}
}

// LostReply is a batch whose maker never learns its id.
func LostReply() Plan { return Plan{Lost: true} }

// Forgotten is a batch that is not known any more after a while.
func Forgotten(after time.Duration) Plan { return Plan{Kept: after} }

// QueueFull is a batch that is not taken, as too many tokens are under way.
func QueueFull() Plan { return Plan{Full: true} }

// RefusedBatch is an answer to the attempt to hand in a batch.
func RefusedBatch(with Answer) Plan { return Plan{Refusal: &with} }

// ScriptBatches says what becomes of the next batches, in the order in which they are handed
// in. Those beyond have the zero plan.
func (s *Server) ScriptBatches(plans ...Plan) {
	s.batches.mu.Lock()
	defer s.batches.mu.Unlock()
	s.batches.plans = append(s.batches.plans, plans...)
}

// Batch is a batch that a server has taken.
type Batch struct {
	ID        string
	Provider  string
	Key       string // ours, where the protocol has one
	Questions []Request
	Cancelled bool
	ByFile    bool // the questions came in a file
}

// Batches are those taken so far, the oldest first.
func (s *Server) Batches() []Batch {
	s.batches.mu.Lock()
	defer s.batches.mu.Unlock()
	taken := make([]Batch, len(s.batches.all))
	for i, b := range s.batches.all {
		taken[i] = b.Batch
	}
	return taken
}

// Charge is an answer that is billed. A question that fails or is not reached costs nothing.
type Charge struct {
	Request
	ID    string // of the question in its batch
	Batch string // "" for one that was asked directly
	Usage llm.Usage
}

// Cost is what is billed in dollars at the standard price given: half of it in the tiers that
// wait.
func (c Charge) Cost(standard llm.Price) float64 {
	if c.Tier == llm.TierStandard {
		return standard.Cost(c.Usage)
	}
	return standard.Cost(c.Usage) / 2
}

// Files are the ids of the files that nobody has deleted, in order.
func (s *Server) Files() (ids []string) {
	s.batches.mu.Lock()
	defer s.batches.mu.Unlock()
	for id, text := range s.batches.files {
		if text != nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Bill is what has been charged, when the batches that are under way have run to their end.
func (s *Server) Bill() []Charge {
	s.batches.mu.Lock()
	for _, b := range s.batches.all {
		s.finish(b)
	}
	s.batches.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bill)
}

func (s *Server) charge(c Charge) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bill = append(s.bill, c)
}

// batches are what a server keeps of batches and their files.
type batches struct {
	mu    sync.Mutex
	plans []Plan
	all   []*batch
	files map[string][]byte // nil: deleted
}

type batch struct {
	Batch
	plan    Plan
	made    time.Time
	file    string // of the questions
	ids     []string
	ended   bool
	results []Result

	done, failed, skipped int // questions
}

// keep stores a file and returns its id.
func (b *batches) keep(text []byte) string {
	if b.files == nil {
		b.files = map[string][]byte{}
	}
	id := fmt.Sprintf("file%d", len(b.files)+1)
	b.files[id] = text
	return id
}

// take makes a batch, or tells why not.
func (s *Server) take(b *batch) *Answer {
	if all := &s.batches; len(all.plans) > 0 {
		b.plan, all.plans = all.plans[0], all.plans[1:]
	}
	switch {
	case b.plan.Refusal != nil:
		return b.plan.Refusal
	case b.plan.Full && b.Provider != "openai":
		full := Failure(http.StatusTooManyRequests, "the number of tokens in batches under way would exceed your rate limit")
		return &full
	case b.plan.Full:
		b.plan.Phase, b.plan.Why = llm.BatchFailed, "Enqueued token limit reached for "+b.Questions[0].Model
	}
	b.made = s.clock()
	b.ID = fmt.Sprintf("batch%d", len(s.batches.all)+1)
	s.batches.all = append(s.batches.all, b)
	if b.plan.Lost {
		reset := Reset()
		return &reset
	}
	return nil
}

// known finds a batch, unless it is forgotten.
func (s *Server) known(provider, id string) *batch {
	for _, b := range s.batches.all {
		if b.ID == id && b.Provider == provider && !s.forgotten(b) {
			return b
		}
	}
	return nil
}

func (s *Server) forgotten(b *batch) bool {
	return b.plan.Kept > 0 && s.clock().Sub(b.made) >= b.plan.Kept
}

// look lets a batch go on.
func (s *Server) look(b *batch) {
	if b.plan.Looks--; b.plan.Looks < 0 && s.clock().Sub(b.made) >= b.plan.Takes {
		s.finish(b)
	}
}

// cancel ends a batch. Without a plan, nothing has been reached.
func (s *Server) cancel(b *batch) {
	if b.ended {
		return
	}
	b.Cancelled, b.plan.Phase = true, llm.BatchCancelled
	if b.plan.Skip == nil {
		b.plan.Skip = func(int) bool { return true }
	}
	s.finish(b)
}

func (b *batch) phase() llm.BatchPhase {
	switch {
	case !b.ended:
		return llm.BatchRunning
	case b.plan.Phase == "":
		return llm.BatchEnded
	default:
		return b.plan.Phase
	}
}

// finish answers the questions of a batch, and bills the answers.
func (s *Server) finish(b *batch) {
	if b.ended {
		return
	}
	b.ended = true
	if b.plan.Phase == llm.BatchFailed {
		return
	}
	for i, req := range b.Questions {
		result := Result{ID: b.ids[i], request: req}
		switch {
		case b.plan.Skip != nil && b.plan.Skip(i):
			result.Skipped = true
			b.skipped++
		case b.plan.Fail != nil && b.plan.Fail(i):
			result.answer = Failure(http.StatusInternalServerError, "the model failed")
		default:
			if result.answer = s.next(req); result.answer.billed() {
				s.charge(Charge{Request: req, ID: result.ID, Batch: b.ID, Usage: result.answer.usage()})
			}
		}
		if result.answer.Status >= 400 {
			b.failed++
		}
		b.results = append(b.results, result)
	}
	b.done = len(b.results) - b.failed - b.skipped
	if b.plan.Arrange != nil && len(b.results) > 0 {
		b.results = b.plan.Arrange(b.results)
	}
}

// errorCode is what OpenAI calls the end of a batch that failed or left questions out.
func (b *batch) errorCode() string {
	switch {
	case b.plan.Full:
		return "token_limit_exceeded"
	case b.plan.Phase == llm.BatchFailed:
		return "invalid_request"
	default:
		return "batch_" + strings.ToLower(string(b.plan.Phase))
	}
}
