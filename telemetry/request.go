package telemetry

import (
	"slices"
	"strconv"
	"time"
)

func (m *Metrics) defineRequests() {
	labels := []string{"route", "method"}
	m.requests = m.counter("http_requests_total", "Requests to the API, the page and MCP, by how they were answered: 2xx, 3xx, 4xx or 5xx.", append(labels, "status")...)
	m.requestSeconds = m.histogram("http_request_seconds", "How long the answer to a request took.", requestBuckets, labels...)
}

// methods are those of HTTP that are told apart.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// RequestDone counts a request. The route is a pattern, so that there are no more of
// them than the API has.
func (m *Metrics) RequestDone(route, method string, status int, took time.Duration) {
	if m == nil {
		return
	}
	if !slices.Contains(methods, method) {
		method = "other"
	}
	m.requests.WithLabelValues(route, method, strconv.Itoa(status/100)+"xx").Inc()
	m.requestSeconds.WithLabelValues(route, method).Observe(took.Seconds())
}
