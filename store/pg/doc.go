// Package pg connects to PostgreSQL. It runs transactions with retries, finds out the outcome of commits whose reply
// was lost, and sends vectors in binary. It uses the driver lib/pq, and knows no table.
//
// Every write runs in an explicit transaction, with timeouts set by SET LOCAL. There are two reasons. The driver
// repeats autocommitted writes after a lost reply, and a session's SET leaks through a pooler. If the reply to a commit
// is lost, a new connection finds out the outcome before the caller gets it: see [Work] and [WasCommitted].
//
// Errors of the driver are returned as errors of package reverie: see [Translate].
package pg
