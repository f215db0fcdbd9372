// Package pg is the way to PostgreSQL: connections, transactions and their retries,
// commits whose reply was lost, and vectors in binary. It knows the driver lib/pq, and
// no table.
//
// Every write runs in an explicit transaction whose timeouts are set with SET LOCAL: the
// driver repeats autocommitted writes when a reply is lost, and a session's SET leaks through
// a pooler. A commit whose reply is lost is settled on a fresh connection before the
// caller hears of it: see [Work] and [WasCommitted].
//
// Errors of the driver come out as those of package reverie: see [Translate].
package pg
