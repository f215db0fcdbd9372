// Package wire is what the adapters of all providers share: an HTTP client that
// turns everything that is not a JSON answer into an [*llm.Error] with the
// status, the provider's words and the time it asks for, and [API] on top of it.
//
// It follows no redirects, so that a key never travels to another host, reads
// no more than [MaxAnswer] bytes, and keeps keys out of messages.
package wire
