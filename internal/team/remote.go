package team

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"reverie/internal/remote"
	"reverie/internal/reverie"
	"reverie/internal/safety"
)

// Limits of an answer from another deployment. It may be malicious.
const (
	maxAnswer  = 16 << 20  // bytes of an answer
	maxList    = 128 << 20 // total of all pages of a list
	maxDetails = 20        // number of error texts
)

// HTTP is another deployment of Reverie, reached by its API. Only one sync at a time may use it.
type HTTP struct {
	*remote.Server
	URL    string // the name by which this deployment knows it
	listed int    // bytes read so far of the current list
}

// Dial returns the deployment at an address such as https://reverie.example.com, for requests with a token. It opens no
// connection. The address of another machine must be https unless allowHTTP is set, because others could read the token
// and the memories on the way. Errors are reverie.ErrConfiguration.
func Dial(address, token string, timeout time.Duration, allowHTTP bool) (*HTTP, error) {
	s, err := remote.New(address, remote.Options{Token: token, Timeout: timeout, MaxBytes: maxAnswer, Attempts: 3,
		Backoff: 300 * time.Millisecond, Patience: 5 * time.Second})
	if err != nil {
		return nil, fmt.Errorf("[team] remote: %w; secrets go into [team] token: %w", err, reverie.ErrConfiguration)
	}
	if s.Plain() && !allowHTTP {
		return nil, fmt.Errorf("[team] remote %s is plain http: the token could be read on the way; use https, or set "+
			"[team] allow_http: %w", s.Base, reverie.ErrConfiguration)
	}
	return &HTTP{Server: s, URL: s.Base.String()}, nil
}

// TeamMemories returns a page of the remote's memories of a team, including deleted ones, ordered by id. after is the
// last id of the page before, "" for the first page. The contents are not checked.
func (h *HTTP) TeamMemories(ctx context.Context, team, after string, limit int) (page reverie.TeamMemories, err error) {
	if after == "" {
		h.listed = 0
	}
	query := url.Values{"team": {team}, "limit": {strconv.Itoa(limit)}}
	if after != "" {
		query.Set("after", after)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.URL+"/v1/team/memories?"+query.Encode(), nil)
	if err != nil {
		return page, err
	}
	n, err := h.ask(req, &page)
	if h.listed += n; err == nil && h.listed > maxList {
		err = fmt.Errorf("%s: its list of memories has more than %d bytes: %w", h.URL, maxList, reverie.ErrConfiguration)
	}
	return page, err
}

// PutTeamMemory makes a version the head of the remote's memory, if ifVersion is its head; "" creates the memory. A
// repeated request with the same key has no further effect. If the remote's head is another version, the error contains
// a *reverie.TeamHeadError without that version. If the remote refuses the content, the error contains a
// *reverie.TeamRefusedError with the findings.
func (h *HTTP) PutTeamMemory(ctx context.Context, team string, m reverie.TeamMemory,
	ifVersion, key string) (answer reverie.TeamMemory, err error) {
	body, err := json.Marshal(m)
	if err != nil {
		return answer, err
	}
	address := h.URL + "/v1/team/memories/" + url.PathEscape(m.ID) + "?" + url.Values{"team": {team}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, address, bytes.NewReader(body))
	if err != nil {
		return answer, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	if ifVersion == "" {
		req.Header.Set("If-None-Match", "*")
	} else {
		req.Header.Set("If-Match", `"`+ifVersion+`"`)
	}
	_, err = h.ask(req, &answer)
	return answer, err
}

// ask sends a request, with retries after transient faults, and returns the size of the answer. Repeated requests do no
// harm. The error tells whether the fault is transient, is one of the configuration, or concerns the memory.
func (h *HTTP) ask(req *http.Request, into any) (n int, err error) {
	err = h.Ask(req, func(_ http.Header, body []byte) error {
		n = len(body)
		if err := json.Unmarshal(body, into); err != nil {
			return h.strange(h.told(err.Error()))
		}
		return nil
	})
	var fault *remote.Fault
	switch {
	case errors.Is(err, remote.ErrTooLong):
		return n, h.strange(err.Error())
	case !errors.As(err, &fault):
		return n, err
	case fault.Status == 0:
		return n, fmt.Errorf("%s cannot be reached, or its answer broke off: %w", h.URL, fault)
	}
	return n, h.problem(fault)
}

// strange is the error of an answer that no Reverie sends.
func (h *HTTP) strange(how string) error {
	return fmt.Errorf("%s does not answer as a Reverie does: %s: %w", h.URL, how, reverie.ErrConfiguration)
}

// problem returns the error in an answer (RFC 9457). For any other answer, such as a proxy's, it only knows the status.
func (h *HTTP) problem(fault *remote.Fault) error {
	var p struct {
		Detail string `json:"detail"`
		Errors []struct {
			Location string `json:"location"`
			Message  string `json:"message"`
		} `json:"errors"`
		Findings []reverie.ScanFinding `json:"findings"`
	}
	_ = json.Unmarshal(fault.Body, &p)
	status := fault.Status
	said := h.told(fmt.Sprintf("%d %s: %s", status, http.StatusText(status), p.Detail))
	for _, e := range p.Errors[:min(len(p.Errors), maxDetails)] {
		said += "; " + h.told(e.Location+": "+e.Message)
	}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return fmt.Errorf("%s will not have us: %s: %w", h.URL, said, reverie.ErrConfiguration)
	case http.StatusPreconditionFailed:
		return fmt.Errorf("%s: %w", said, &reverie.TeamHeadError{})
	case http.StatusConflict:
		return fmt.Errorf("%s: %w", said, reverie.ErrConflict)
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity,
		http.StatusPreconditionRequired:
		if len(p.Findings) > 0 {
			return fmt.Errorf("%s: %w", said, &reverie.TeamRefusedError{Findings: h.findings(p.Findings)})
		}
		return fmt.Errorf("%s: %w", said, reverie.ErrInvalid)
	}
	switch {
	case fault.Passing:
		return fmt.Errorf("%s is not well: %s: %w", h.URL, said, reverie.ErrDeferred)
	case status/100 == 3:
		return fmt.Errorf("%s: %w: set [team] remote", h.URL, fault)
	}
	return h.strange(said)
}

// findings returns the first findings of the remote, made safe to show.
func (h *HTTP) findings(list []reverie.ScanFinding) []reverie.ScanFinding {
	list = list[:min(len(list), maxDetails)]
	for i, f := range list {
		list[i] = reverie.ScanFinding{Where: h.told(f.Where), Class: reverie.FindingClass(h.told(string(f.Class))),
			Rule: h.told(f.Rule), Excerpt: h.told(f.Excerpt)}
	}
	return list
}

// told makes a text of the remote safe to show: short, without the token, which the remote may have returned, and
// without other secrets.
func (h *HTTP) told(s string) string { return safety.MaskSecrets(h.Told(s)) }
