package mcp

import (
	"context"
	"errors"
	"testing"
)

// The calls of one request work one after another, so that a batch does no more at a time than a call.
func TestCallsOfABatchWorkInTurn(t *testing.T) {
	request := context.WithValue(t.Context(), inTurn{}, make(chan struct{}, 1))
	leave, err := turn(request)
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(request)
	cancel()
	if _, err := turn(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("a second call works beside the first: %v", err)
	}
	leave()
	if _, err := turn(request); err != nil {
		t.Errorf("the next call: %v", err)
	}
}
