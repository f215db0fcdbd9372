package llmtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"reverie/internal/llm"
)

// Answer is a server's answer to one request. The zero value is an empty text, or the requested vectors.
type Answer struct {
	Text        string
	Finish      llm.Finish // "" = llm.FinishStop
	Usage       llm.Usage  // zero: 100 in, 20 out
	NoUsage     bool       // none is reported
	NoFinish    bool       // the reason to stop is missing
	NoChoices   bool       // the answer contains no text
	Tier        llm.Tier   // the tier that the answer reports; "" is the requested one
	Status      int        // of an error; 0 = 200
	Message     string     // of an error, in the protocol's shape
	Header      http.Header
	Raw         *string // the exact body, instead of the protocol's
	ContentType string  // default application/json
	Vectors     func(texts []string) [][]float32

	gate   <-chan struct{}
	manner manner
}

// manner is how an answer is delivered.
type manner int

const (
	whole manner = iota
	hanging
	cutOff
	reset
)

// Text returns a complete answer.
func Text(text string) Answer { return Answer{Text: text} }

// Lines returns a complete answer of several lines.
func Lines(lines ...string) Answer { return Text(strings.Join(lines, "\n")) }

// Truncated returns an answer that stopped at the length limit.
func Truncated(text string) Answer { return Answer{Text: text, Finish: llm.FinishLength} }

// Refused returns the answer of a model that refuses.
func Refused() Answer { return Answer{Finish: llm.FinishRefused} }

// Prose returns an answer that is not JSON Lines.
func Prose() Answer {
	return Text("Sure! I have read the discussion, and I think that everybody had a good time. Shall I go on?")
}

// BrokenLines returns JSON Lines with the mistakes of careless models; the last one is unreadable.
func BrokenLines() Answer {
	return Lines("```jsonl", `{action: "keep", "old_id": 'm1',}`, `// done`, `{"action":"create","statement":`, "```")
}

// NoChoices returns an answer with status 200 and no content.
func NoChoices() Answer { return Answer{NoChoices: true} }

// Page returns a web page with status 200, as from a proxy or a wrong URL.
func Page() Answer {
	page := "<!DOCTYPE html>\n<html><head><title>Welcome to nginx!</title></head><body>It works.</body></html>"
	return Answer{Raw: &page, ContentType: "text/html; charset=utf-8"}
}

// Body returns an answer with exactly this body.
func Body(status int, contentType, body string) Answer {
	return Answer{Status: status, ContentType: contentType, Raw: &body}
}

// Failure returns an error in the protocol's shape.
func Failure(status int, message string) Answer { return Answer{Status: status, Message: message} }

// RateLimited returns status 429 with a delay in whole seconds; 0 requests none.
func RateLimited(wait time.Duration) Answer {
	a := Failure(http.StatusTooManyRequests, "Too many requests. Please slow down.")
	if wait > 0 {
		a.Header = http.Header{"Retry-After": {strconv.Itoa(int(wait / time.Second))}}
	}
	return a
}

// NoCapacity returns the error by which a provider temporarily refuses the flex tier: status 429 or 503.
func NoCapacity(status int) Answer {
	return Failure(status, "Resource unavailable: there is no capacity for this tier right now.")
}

// Redirect redirects the client.
func Redirect(to string) Answer {
	a := Body(http.StatusTemporaryRedirect, "text/plain", "moved")
	a.Header = http.Header{"Location": {to}}
	return a
}

// Hang answers nothing until the client gives up.
func Hang() Answer { return Answer{manner: hanging} }

// CutOff returns an answer whose body ends too early.
func CutOff() Answer { return Answer{Text: "a text that will not arrive whole", manner: cutOff} }

// Reset breaks the connection before the answer.
func Reset() Answer { return Answer{manner: reset} }

// WrongCount returns one embedding too few.
func WrongCount() Answer {
	return Answer{Vectors: func(texts []string) [][]float32 { return vectorsOf(texts, 8)[1:] }}
}

// After delivers the answer when the gate is closed, or when the client has disconnected.
func (a Answer) After(gate <-chan struct{}) Answer {
	a.gate = gate
	return a
}

func (a Answer) usage() llm.Usage {
	if a.Usage == (llm.Usage{}) && !a.NoUsage {
		return llm.Usage{InputTokens: 100, OutputTokens: 20}
	}
	return a.Usage
}

// billed reports whether the answer costs something.
func (a Answer) billed() bool {
	return a.Status < 400 && a.Raw == nil && (a.manner == whole || a.manner == cutOff)
}

// tier returns the tier in which the question is answered.
func (a Answer) tier(req Request) llm.Tier { return cmp.Or(a.Tier, req.Tier, llm.TierStandard) }

// vectors returns those of the answer, or one of the requested width per text.
func (a Answer) vectors(s *Server, req Request) [][]float32 {
	if a.Vectors != nil {
		return a.Vectors(req.Texts)
	}
	return vectorsOf(req.Texts, cmp.Or(req.Dims, s.dims))
}

// write delivers the answer in its manner.
func (a Answer) write(s *Server, w http.ResponseWriter, r *http.Request, req Request) {
	gate := a.gate
	if a.manner == hanging {
		gate = make(chan struct{})
	}
	if gate != nil {
		select {
		case <-gate:
		case <-r.Context().Done():
			return
		case <-s.closing:
			panic(http.ErrAbortHandler)
		}
	}
	if a.manner == reset {
		resetConnection(w)
		return
	}
	body := a.body(s, req)
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", "application/json")
	if a.ContentType != "" {
		w.Header().Set("Content-Type", a.ContentType)
	}
	if req.Provider == "gemini" && a.tier(req) != llm.TierStandard {
		w.Header().Set("X-Gemini-Service-Tier", string(a.tier(req)))
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if a.Status != 0 {
		w.WriteHeader(a.Status)
	}
	if a.manner == cutOff {
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler) // closes the connection before the announced length
	}
	_, _ = w.Write(body)
}

func (a Answer) body(s *Server, req Request) []byte {
	if a.Raw != nil {
		return []byte(*a.Raw)
	}
	body, err := json.Marshal(a.shape(s, req))
	if err != nil {
		panic(fmt.Sprintf("llmtest: an answer cannot be encoded: %v", err))
	}
	return body
}

// resetConnection closes the connection so that the client sees a reset, not an orderly end.
func resetConnection(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
