// Package store keeps Reverie's groups, messages, memories and runs in
// PostgreSQL with pgvector.
//
// One exported method is one transaction, scoped to one group wherever the noun
// belongs to one. Writes of several rows go through unnest, so that the number
// of statements does not depend on the size of what is written. Vectors travel
// in binary both ways, and searches are exact within a group.
//
// Package pg runs the transactions: it retries them, and settles commits whose reply
// was lost. What takes a lease compares its fence first: see [Store.AcquireLease].
//
// Errors of the driver come out as those of package reverie: ErrNotFound,
// ErrConflict, ErrInvalid, ErrBusy, ErrLeaseLost, ErrUnavailable,
// ErrConfiguration and ErrOutdatedSchema.
package store
