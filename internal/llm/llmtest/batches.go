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

// Plan is the course of one batch. With the zero value, every question is answered when a client first fetches the
// batch.
type Plan struct {
	Refusal *Answer                         // instead of a batch
	Lost    bool                            // the batch is created, and the connection breaks before the reply
	Full    bool                            // too many queued tokens, as each provider reports it
	Looks   int                             // number of fetches during which it is running
	Takes   time.Duration                   // how long it runs, by the server's clock
	Phase   llm.BatchPhase                  // its final phase; "" is llm.BatchEnded
	Why     string                          // why it failed
	Skip    func(i int) bool                // questions that are not reached before the end
	Fail    func(i int) bool                // questions that the model fails to answer
	Arrange func(answers []Result) []Result // changes the order or content of the answers
	Kept    time.Duration                   // how long the batch is known after its creation; 0 is for ever
}

// Result is the result of one question of a batch.
type Result struct {
	ID      string
	Skipped bool
	answer  Answer
	request Request
}

// Slow returns a batch that is running for a number of fetches.
func Slow(looks int) Plan { return Plan{Looks: looks} }

// Expired returns a batch that expires when n questions are answered.
func Expired(n int) Plan {
	return Plan{Phase: llm.BatchExpired, Skip: func(i int) bool { return i >= n }}
}

// HalfFailed returns a batch in which every other question fails.
func HalfFailed() Plan { return Plan{Fail: func(i int) bool { return i%2 == 1 }} }

// FailedBatch returns a batch that is refused as a whole after it was accepted.
func FailedBatch(why string) Plan { return Plan{Phase: llm.BatchFailed, Why: why} }

// SwappedKeys returns a batch in which each answer has the key of the next question.
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

// OutOfOrder returns a batch whose last answer comes first.
func OutOfOrder() Plan {
	return Plan{Arrange: func(answers []Result) []Result {
		slices.Reverse(answers)
		return answers
	}}
}

// Doubled returns a batch with every answer twice.
func Doubled() Plan {
	return Plan{Arrange: func(answers []Result) []Result { return append(answers, answers...) }}
}

// LostReply returns a batch whose submitter never learns its id.
func LostReply() Plan { return Plan{Lost: true} }

// Forgotten returns a batch that is unknown after a while.
func Forgotten(after time.Duration) Plan { return Plan{Kept: after} }

// QueueFull returns a batch that is refused, since too many tokens are queued.
func QueueFull() Plan { return Plan{Full: true} }

// RefusedBatch returns an answer that refuses the submission of a batch.
func RefusedBatch(with Answer) Plan { return Plan{Refusal: &with} }

// ScriptBatches sets the plans of the next batches, in the order of submission. Further ones have the zero plan.
func (s *Server) ScriptBatches(plans ...Plan) {
	s.batches.mu.Lock()
	defer s.batches.mu.Unlock()
	s.batches.plans = append(s.batches.plans, plans...)
}

// Batch is a batch that a server has accepted.
type Batch struct {
	ID        string
	Provider  string
	Key       string // the client's key, if the protocol has one
	Questions []Request
	Cancelled bool
	ByFile    bool // the questions came in a file
}

// Batches returns those accepted so far, oldest first.
func (s *Server) Batches() []Batch {
	s.batches.mu.Lock()
	defer s.batches.mu.Unlock()
	taken := make([]Batch, len(s.batches.all))
	for i, b := range s.batches.all {
		taken[i] = b.Batch
	}
	return taken
}

// Charge is a billed answer. A question that fails or is not reached costs nothing.
type Charge struct {
	Request
	ID    string // of the question in its batch
	Batch string // "" for a question that was asked directly
	Usage llm.Usage
}

// Cost returns the cost in dollars at the given standard price; slower tiers cost half.
func (c Charge) Cost(standard llm.Price) float64 {
	if c.Tier == llm.TierStandard {
		return standard.Cost(c.Usage)
	}
	return standard.Cost(c.Usage) / 2
}

// Files returns the ids of the files that were not deleted, in order.
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

// Bill returns all charges, after running all batches to their end.
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

// batches holds a server's batches and their files.
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

	done, failed, skipped int // numbers of questions
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

// take accepts a batch, or returns why not.
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

// known returns a batch, unless it is forgotten.
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

// look advances a batch by one fetch.
func (s *Server) look(b *batch) {
	if b.plan.Looks--; b.plan.Looks < 0 && s.clock().Sub(b.made) >= b.plan.Takes {
		s.finish(b)
	}
}

// cancel ends a batch. Without a plan, no question has been reached.
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

// errorCode returns OpenAI's code for a batch that failed or left questions out.
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
