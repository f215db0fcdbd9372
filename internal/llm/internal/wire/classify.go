package wire

import (
	"net/http"
	"strings"

	"reverie/internal/llm"
)

// classify finds the fault in an HTTP status and the provider's words; status
// is 0 where a gateway failed with 200 and no code. The words come first where
// they are clearer than the status: Gemini answers a wrong key with 400, OpenAI
// an over-long request with 429, local servers one with 500.
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
		status == http.StatusPaymentRequired: // an account without money is set right by a person, like a key
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

// tells are words by which providers say what a status does not.
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
	{llm.FaultRateLimited, []string{"rate_limit", "rate limit"}},
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
