package wire

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"reverie/internal/llm"
)

// problem is an error as the providers write it: an object under "error" (OpenAI, Anthropic, Gemini), a text there
// (Ollama), or a text under "message" or "detail" (gateways).
type problem struct {
	Message string
	Code    json.RawMessage // a string (OpenAI) or the status as a number (Gemini)
	Type    string
	Status  string // Gemini, such as INVALID_ARGUMENT
	Details []problemDetail
}

// problemDetail is one of Gemini's details.
type problemDetail struct {
	Reason     string `json:"reason"`
	RetryDelay string `json:"retryDelay"` // such as "27s"
}

// problemIn finds the problem in the body of a failed call; the result is zero if there is none.
func problemIn(body []byte) problem {
	var whole struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &whole) != nil {
		return problem{}
	}
	for _, raw := range []json.RawMessage{whole.Error, whole.Message, whole.Detail} {
		if p := parseProblem(raw); p.isSet() {
			return p
		}
	}
	return problem{}
}

// errorIn finds the problem in the body of a successful status, which must have an "error" field.
func errorIn(body []byte) problem {
	var whole struct {
		Error json.RawMessage `json:"error"`
	}
	if !bytes.Contains(body, []byte(`"error"`)) || json.Unmarshal(body, &whole) != nil {
		return problem{}
	}
	return parseProblem(whole.Error)
}

// parseProblem parses each field separately, so that one of an unexpected type does not lose the others.
func parseProblem(raw json.RawMessage) problem {
	var p problem
	if json.Unmarshal(raw, &p.Message) == nil {
		return p
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return p
	}
	p.Code = fields["code"]
	for name, into := range map[string]any{"message": &p.Message, "type": &p.Type, "status": &p.Status,
		"details": &p.Details} {
		_ = json.Unmarshal(fields[name], into)
	}
	if p.Message == "" && len(fields) > 0 {
		p.Message = string(raw)
	}
	return p
}

func (p problem) isSet() bool { return p.Message != "" || p.Type != "" || p.Status != "" }

// String returns the provider's message, with its code if the message does not contain it.
func (p problem) String() string {
	if p.Message != "" {
		return p.Message
	}
	return strings.TrimSpace(p.Type + " " + p.Status)
}

// status returns the HTTP status that the code stands for, 0 if none.
func (p problem) status() int {
	var code int
	if json.Unmarshal(p.Code, &code) == nil && code >= 400 && code < 600 {
		return code
	}
	return 0
}

// text returns all of the problem's text, for searching.
func (p problem) text() string {
	var b strings.Builder
	for _, part := range []string{p.Message, string(p.Code), p.Type, p.Status} {
		b.WriteString(strings.ToLower(part) + " ")
	}
	for _, d := range p.Details {
		b.WriteString(strings.ToLower(d.Reason) + " ")
	}
	return b.String()
}

// retryDelay returns the delay that Gemini requests in the body, 0 if none.
func (p problem) retryDelay() time.Duration {
	for _, d := range p.Details {
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
			return wait
		}
	}
	return 0
}

// describe summarises a body without an error.
func describe(body []byte) string {
	text := strings.TrimSpace(string(body[:min(len(body), 4096)]))
	if !strings.HasPrefix(text, "<") {
		return shorten(text)
	}
	lower := strings.ToLower(text)
	if from := strings.Index(lower, "<title>"); from >= 0 && len(lower) == len(text) {
		if length := strings.Index(lower[from:], "</title>"); length > 0 {
			return shorten("page: " + text[from+len("<title>"):from+length])
		}
	}
	return "a web page"
}

// maxWords is the maximum number of characters of a provider's message.
const maxWords = 300

// shorten returns s as one readable line of at most maxWords characters.
func shorten(s string) string {
	var b strings.Builder
	n, space := 0, false
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			space = n > 0
			continue
		}
		if n >= maxWords {
			return b.String() + "…"
		}
		if space {
			b.WriteByte(' ')
			n, space = n+1, false
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// classify determines the fault from an HTTP status and the provider's message. status is 0 if a gateway failed
// with 200 and without a code. The message has priority where it is clearer than the status: Gemini answers a wrong
// key with 400, OpenAI an over-long request with 429, local servers one with 500.
func classify(status int, p problem) llm.Fault {
	words := byWords(p.text())
	switch {
	case words == llm.FaultTooLarge, status == http.StatusRequestEntityTooLarge:
		return llm.FaultTooLarge
	case status == http.StatusTooManyRequests:
		return llm.FaultRateLimited
	case status == http.StatusRequestTimeout:
		return llm.FaultTimeout
	case status >= 500, status == http.StatusConflict, status == http.StatusTooEarly:
		return llm.FaultServer
	case status == http.StatusUnauthorized, status == http.StatusForbidden,
		status == http.StatusPaymentRequired: // like a wrong key, an account without money needs a person
		return llm.FaultUnauthorized
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status == http.StatusGone:
		return llm.FaultNotFound
	case words != "":
		return words
	case status == 0:
		return llm.FaultServer
	default:
		return llm.FaultBadRequest
	}
}

// tells are words in providers' messages that identify a fault better than the status.
var tells = []struct {
	fault llm.Fault
	words []string
}{
	{llm.FaultTooLarge, []string{
		"context_length_exceeded", "maximum context length", "context length exceeded", "exceeds the context",
		"context window",
		"exceed_context_size", "prompt is too long", "input is too long", "exceeds the maximum number of tokens",
		"request too large", "request_too_large", "string_above_max_length",
	}},
	{llm.FaultUnauthorized, []string{
		"api_key_invalid", "api key not valid", "invalid_api_key", "incorrect api key", "invalid api key",
		"authentication_error",
		"insufficient balance", "failed_precondition",
	}},
	{llm.FaultNotFound, []string{
		"model_not_found", "model not found", "model does not exist", "model not exist", "unknown model", "not_found_error",
	}},
	{llm.FaultRateLimited, []string{"rate_limit", "rate limit", "token_limit_exceeded", "enqueued token"}},
	{llm.FaultTimeout, []string{"batch_expired"}},
	{llm.FaultCanceled, []string{"batch_cancelled"}},
}

func byWords(text string) llm.Fault {
	for _, t := range tells {
		for _, w := range t.words {
			if strings.Contains(text, w) {
				return t.fault
			}
		}
	}
	return ""
}

// longestWait is the maximum delay.
const longestWait = 24 * time.Hour

// retryAfter returns the delay that a server requests: Retry-After-Ms, or Retry-After as seconds or as a date. It
// is 0 if there is none or it is invalid.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if d, ok := scaled(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if d, ok := scaled(v, time.Second); ok {
		return d
	}
	if at, err := http.ParseTime(v); err == nil {
		return min(max(at.Sub(now), 0), longestWait)
	}
	return 0
}

func scaled(s string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !(n >= 0) { // not a number either
		return 0, false
	}
	if n >= float64(longestWait/unit) {
		return longestWait, true
	}
	return time.Duration(n * float64(unit)), true
}
