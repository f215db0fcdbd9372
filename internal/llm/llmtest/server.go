// Package llmtest is a fake model server for tests: it speaks the wire
// protocols of OpenAI (Chat Completions and Embeddings), Gemini and Anthropic, and those
// of their batches, on the loopback, answers from a script, and can misbehave in the ways
// that real servers do.
//
//	srv := llmtest.New(t)
//	srv.Script(llmtest.RateLimited(time.Second), llmtest.Lines(`{"action":"none"}`))
//	client, err := openai.New(openai.Options{BaseURL: srv.URL("openai"), HTTPClient: srv.Client(), ...})
package llmtest

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"reverie/internal/llm"
)

// Server is a fake model server. It is safe for concurrent use.
type Server struct {
	t       testing.TB
	http    *httptest.Server
	closing chan struct{} // ends the answers that hang

	mu         sync.Mutex
	dims       int
	key        string
	texts      queue
	embeddings queue
	requests   []Request
	bill       []Charge

	clock   func() time.Time // of batches
	batches batches
}

// queue answers requests of one kind: from the script first, then by the
// responder.
type queue struct {
	script  []Answer
	respond func(Request) Answer
}

// Option changes how a server behaves.
type Option func(*Server)

// WithDims sets the width of vectors where a request asks for none; the default
// is llm.DefaultDims.
func WithDims(n int) Option { return func(s *Server) { s.dims = n } }

// WithKey refuses requests that carry another key.
func WithKey(key string) Option { return func(s *Server) { s.key = key } }

// WithClock sets the time by which batches are made, take their time and are forgotten.
func WithClock(now func() time.Time) Option { return func(s *Server) { s.clock = now } }

// New starts a server that ends with the test.
func New(t testing.TB, options ...Option) *Server {
	t.Helper()
	s := &Server{t: t, closing: make(chan struct{}), dims: llm.DefaultDims, clock: time.Now}
	s.embeddings.respond = func(Request) Answer { return Answer{} }
	for _, o := range options {
		o(s)
	}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		close(s.closing)
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// URL is the base URL for a provider's adapter: openai, gemini or anthropic.
func (s *Server) URL(provider string) string {
	if provider == "openai" {
		return s.http.URL + "/v1"
	}
	return s.http.URL
}

// Client is an HTTP client whose connections end with the server. Without it,
// an adapter's idle connections outlive the test.
func (s *Server) Client() *http.Client { return s.http.Client() }

// Script adds answers to questions, given in order, once each. A question
// beyond the script fails the test, unless Respond is set.
func (s *Server) Script(answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts.script = append(s.texts.script, answers...)
}

// Respond answers the questions beyond the script.
func (s *Server) Respond(f func(Request) Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts.respond = f
}

// ScriptEmbeddings adds answers to requests for embeddings. Beyond the script
// each text gets its [Vector].
func (s *Server) ScriptEmbeddings(answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.embeddings.script = append(s.embeddings.script, answers...)
}

// RespondEmbeddings answers the requests for embeddings beyond the script.
func (s *Server) RespondEmbeddings(f func(Request) Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.embeddings.respond = f
}

// Requests returns what has been asked so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// serve treats one HTTP request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if route := batchRoute(r.URL.Path); route != nil {
		s.serveBatch(w, r, route)
		return
	}
	provider, embeds := route(r.URL.Path)
	if provider == "" || r.Method != http.MethodPost {
		http.Error(w, "no such route: "+r.Method+" "+r.URL.Path, http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	req := newRequest(provider, r)
	if err := req.read(body, embeds); err != nil {
		s.t.Errorf("llmtest: %s %s: %v", r.Method, r.URL.Path, err)
		Failure(http.StatusBadRequest, err.Error()).write(s, w, r, req)
		return
	}
	answer := s.next(req)
	if !embeds && answer.billed() {
		req.Tier = answer.tier(req)
		s.charge(Charge{Request: req, Usage: answer.usage()})
	}
	answer.write(s, w, r, req)
}

// next records a request and finds its answer.
func (s *Server) next(req Request) Answer {
	s.mu.Lock()
	s.requests = append(s.requests, req)
	q := &s.texts
	if req.Embedding() {
		q = &s.embeddings
	}
	respond := q.respond
	switch {
	case s.key != "" && req.Key != s.key:
		respond = func(Request) Answer { return Failure(http.StatusUnauthorized, "this key is not known: "+req.Key) }
	case len(q.script) > 0:
		answer := q.script[0]
		q.script = q.script[1:]
		respond = func(Request) Answer { return answer }
	}
	s.mu.Unlock()
	if respond == nil {
		s.t.Errorf("llmtest: request %d is beyond the script", len(s.Requests()))
		return Failure(http.StatusBadRequest, "the script has ended")
	}
	return respond(req)
}

// Request is what a server was asked, whatever the protocol.
type Request struct {
	Provider    string // openai, gemini or anthropic
	Path        string
	Model       string
	System      string
	User        string
	MaxTokens   int
	Temperature *float64
	Texts       []string // to be embedded; nil for a question
	Dims        int      // width asked for, 0 if none
	Tier        llm.Tier
	Key         string
	Header      http.Header // without the key
	Body        map[string]any
}

// Embedding tells whether vectors are asked for.
func (r Request) Embedding() bool { return r.Texts != nil }

// pairOf numbers the pairs that models are measured on, by their texts.
var pairOf = sync.OnceValue(func() map[string]int {
	number := map[string]int{}
	for i, text := range llm.CalibrationTexts() {
		number[text] = i / 2
	}
	return number
})

// Vector is the embedding that a server gives a text: of length one, the same
// for the same text, and nearly at right angles to that of any other, but for the pairs
// that models are measured on: they have a cosine of about 0.8.
func Vector(text string, dims int) []float32 {
	v := direction(text, dims)
	if pair, is := pairOf()[text]; is {
		for i, shared := range direction(fmt.Sprintf("pair %d", pair), dims) {
			v[i] = float32(math.Sqrt(0.2))*v[i] + float32(math.Sqrt(0.8))*shared
		}
	}
	return v
}

func direction(text string, dims int) []float32 {
	sum := sha256.Sum256([]byte(text))
	random := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:8]), binary.LittleEndian.Uint64(sum[8:16])))
	v := make([]float32, dims)
	var square float64
	for i := range v {
		v[i] = float32(random.NormFloat64())
		square += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(square))
	}
	return v
}

func vectorsOf(texts []string, dims int) [][]float32 {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = Vector(text, dims)
	}
	return vectors
}
