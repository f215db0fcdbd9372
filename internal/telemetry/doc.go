// Package telemetry lets an operator see what happened: metrics for Prometheus,
// traces for OpenTelemetry and Langfuse, failed runs for Sentry, and the small
// HTTP server by which a daemon is probed and scraped.
//
// A nil [*Metrics], [*Tracer] or [*Sentry] does nothing, so that those who report
// to one need not ask whether it is there. None of them ever fails a run, and
// none sends a prompt or an answer.
package telemetry
