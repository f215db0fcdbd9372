package problem

import "context"

type requestIDKey struct{}

// WithRequestID is a context of the request of that id.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID returns the id of the request that a context belongs to, "" if it is none's.
// It stands in the log beside what went wrong, and in the answer.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}
