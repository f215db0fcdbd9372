// Package store keeps Reverie's groups, messages, memories and runs in
// PostgreSQL with pgvector.
//
// One exported method is one transaction, scoped to one group wherever the noun
// belongs to one. Writes of several rows go through unnest, so that the number
// of statements does not depend on the size of what is written. Vectors travel
// in binary both ways, and searches are exact within a group.
//
// Every write runs in an explicit transaction whose timeouts are set with SET
// LOCAL: the driver repeats autocommitted writes when a reply is lost, and a
// session SET leaks through a pooler. A commit whose reply is lost is settled on
// a fresh connection before the caller hears of it.
//
// Errors of the driver come out as those of package reverie: ErrNotFound,
// ErrConflict, ErrInvalid, ErrBusy, ErrLeaseLost, ErrUnavailable,
// ErrConfiguration and ErrOutdatedSchema.
package store
