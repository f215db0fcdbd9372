// Package store stores Reverie's groups, messages, memories and runs in PostgreSQL with pgvector.
//
// Each exported method is one transaction. It concerns one group, unless the data belongs to none. Writes of several
// rows use unnest, so that the number of statements does not depend on the number of rows. Vectors are sent in binary
// both ways. Searches within a group are exact.
//
// Package pg runs the transactions. It retries them, and finds out whether a commit succeeded whose reply was lost.
// Methods that take a lease check its fence first: see [Store.AcquireLease].
//
// Errors of the driver are returned as errors of package reverie: ErrNotFound, ErrConflict, ErrInvalid, ErrBusy,
// ErrLeaseLost, ErrUnavailable, ErrConfiguration and ErrOutdatedSchema.
package store
