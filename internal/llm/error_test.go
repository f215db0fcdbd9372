package llm

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"reverie/internal/reverie"
)

func TestErrorSaysWhatToDo(t *testing.T) {
	for _, c := range []struct {
		err  Error
		want string
	}{
		{Error{Provider: "openai", Fault: FaultUnauthorized, Status: 401, Err: errors.New("wrong key.")},
			"openai: access was refused (HTTP 401): wrong key; check REVERIE_LLM_API_KEY"},
		{Error{Provider: "gemini", Fault: FaultUnauthorized, Status: 403, Embedding: true},
			"gemini: access was refused (HTTP 403); check REVERIE_EMBED_API_KEY, or REVERIE_LLM_API_KEY, which stands in for it"},
		{Error{Provider: "openai", Fault: FaultNotFound, Status: 404, Err: errors.New("no model x")},
			"openai: no such model or route (HTTP 404): no model x; check REVERIE_LLM_MODEL and REVERIE_LLM_BASE_URL"},
		{Error{Provider: "openai", Fault: FaultNotFound, Status: 404, Embedding: true},
			"openai: no such model or route (HTTP 404); check REVERIE_EMBED_MODEL and REVERIE_EMBED_BASE_URL"},
		{Error{Provider: "p", Fault: FaultCanceled, Err: context.Canceled}, "p: the call was cancelled: context canceled"},
		{Error{Provider: "p", Fault: "new"}, "p: new"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestErrorIsOfTheDomain(t *testing.T) {
	deferred := map[Fault]bool{FaultRateLimited: true, FaultServer: true, FaultTimeout: true, FaultNetwork: true}
	configuration := map[Fault]bool{FaultUnauthorized: true, FaultNotFound: true, FaultUnrecorded: true}
	for fault := range meanings {
		err := fmt.Errorf("wrapped: %w", &Error{Fault: fault, Err: context.Canceled})
		if errors.Is(err, reverie.ErrDeferred) != deferred[fault] || errors.Is(err, reverie.ErrConfiguration) != configuration[fault] {
			t.Errorf("%s is of the wrong kind", fault)
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s hides its cause", fault)
		}
	}
}
