// Package llmtest is a fake model server for tests. It speaks the protocols of OpenAI (Chat Completions and
// Embeddings), Gemini and Anthropic, including their batches, on the loopback interface. It answers from a script,
// and can fail in the ways of real servers.
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
	closing chan struct{} // ends hanging answers

	mu         sync.Mutex
	dims       int
	key        string
	texts      queue
	embeddings queue
	requests   []Request
	bill       []Charge

	clock   func() time.Time // of batches
	batches batches
	info    map[string]string // answers of routes without a script: "GET /props"
}

// queue answers requests of one kind: from the script first, then with the responder.
type queue struct {
	script  []Answer
	respond func(Request) Answer
}

// Option changes how a server behaves.
type Option func(*Server)

// WithDims sets the width of vectors for requests without one; the default is llm.DefaultDims.
func WithDims(n int) Option { return func(s *Server) { s.dims = n } }

// WithKey makes the server refuse requests with another key.
func WithKey(key string) Option { return func(s *Server) { s.key = key } }

// WithClock sets the clock of batches.
func WithClock(now func() time.Time) Option { return func(s *Server) { s.clock = now } }

// WithInfo makes the server answer an additional route, such as "GET /props", with a body.
func WithInfo(route, body string) Option {
	return func(s *Server) {
		if s.info == nil {
			s.info = map[string]string{}
		}
		s.info[route] = body
	}
}

// AsLlamaCpp makes the server describe itself as llama.cpp with a model of that context length.
func AsLlamaCpp(model string, context int) Option {
	return all(WithInfo("GET /v1/models", fmt.Sprintf(
		`{"object":"list","data":[{"id":%q,"object":"model","owned_by":"llamacpp","meta":{"n_ctx_train":131072}}]}`, model)),
		WithInfo("GET /props", fmt.Sprintf(`{"default_generation_settings":{"n_ctx":%d},"total_slots":4}`, context)))
}

// AsOllama makes the server describe itself as Ollama. The parameters are those of the model's file.
func AsOllama(model string, trained int, parameters string) Option {
	return all(WithInfo("GET /v1/models", fmt.Sprintf(
		`{"object":"list","data":[{"id":%q,"object":"model","owned_by":"library"}]}`, model)),
		WithInfo("POST /api/show", fmt.Sprintf(`{"parameters":%q,"model_info":{"general.architecture":"llama",`+
			`"llama.context_length":%d},"capabilities":["completion"]}`, parameters, trained)),
		WithInfo("GET /api/ps", `{"models":[]}`))
}

// AsVLLM makes the server describe itself as vLLM.
func AsVLLM(model string, context int) Option {
	return WithInfo("GET /v1/models", fmt.Sprintf(
		`{"object":"list","data":[{"id":%q,"object":"model","owned_by":"vllm","max_model_len":%d}]}`, model, context))
}

func all(options ...Option) Option {
	return func(s *Server) {
		for _, o := range options {
			o(s)
		}
	}
}

// New starts a server that stops at the end of the test.
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

// Client returns an HTTP client whose connections end with the server. Otherwise an adapter's idle connections
// outlive the test.
func (s *Server) Client() *http.Client { return s.http.Client() }

// Script adds answers to questions, each used once, in order. A question beyond the script fails the test, unless
// Respond is set.
func (s *Server) Script(answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts.script = append(s.texts.script, answers...)
}

// Respond sets the responder for questions beyond the script.
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

// RespondEmbeddings sets the responder for requests for embeddings beyond the script.
func (s *Server) RespondEmbeddings(f func(Request) Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.embeddings.respond = f
}

// Requests returns all requests so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// serve handles one HTTP request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if body, known := s.info[r.Method+" "+r.URL.Path]; known {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body) // a disconnected client does not read it
		return
	}
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
		return // the client has disconnected
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

// next records a request and returns its answer.
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

// Request is a request to the server, in any protocol.
type Request struct {
	Provider    string // openai, gemini or anthropic
	Path        string
	Model       string
	System      string
	User        string
	MaxTokens   int
	Temperature *float64
	Texts       []string // texts to embed; nil for a question
	Dims        int      // requested width, 0 if none
	Tier        llm.Tier
	Key         string
	Header      http.Header // without the key
	Body        map[string]any
}

// Embedding reports whether the request is for vectors.
func (r Request) Embedding() bool { return r.Texts != nil }

// pairOf maps the texts of the calibration pairs to the number of their pair.
var pairOf = sync.OnceValue(func() map[string]int {
	number := map[string]int{}
	for i, text := range llm.CalibrationTexts() {
		number[text] = i / 2
	}
	return number
})

// Vector returns the embedding of a text: of length one, always the same for a text, and almost orthogonal to those
// of other texts. The two texts of a calibration pair have a cosine of about 0.8.
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
