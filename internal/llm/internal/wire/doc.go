// Package wire is what the adapters of all providers share below their SDKs: an
// HTTP client that turns everything that is not a JSON answer into an
// [*llm.Error], before an SDK can lose the status, the provider's words or the
// time it asks for.
//
// It follows no redirects, so that a key never travels to another host, reads
// no more than [MaxAnswer] bytes, and keeps keys out of messages.
package wire
