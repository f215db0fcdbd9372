package telemetry

import (
	"slices"
	"strconv"
	"time"
)

func (m *Metrics) defineRequests() {
	labels := []string{"route", "method"}
	m.requests = m.counter("http_requests_total",
		"Requests to the API, the page and MCP, by how they were answered: 2xx, 3xx, 4xx or 5xx.", append(labels,
			"status")...)
	m.requestSeconds = m.histogram("http_request_seconds", "How long the answer to a request took.", requestBuckets,
		labels...)
	m.confined = m.gauge("reader_confined",
		"1 where clients read as a role that row-level security confines to their group, 0 where they do not.")
}

// ReaderConfined says whether clients read as a role that is confined to their group.
func (m *Metrics) ReaderConfined(on bool) {
	if m == nil {
		return
	}
	m.confined.WithLabelValues().Set(map[bool]float64{true: 1}[on])
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
