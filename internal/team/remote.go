package team

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// Limits of an answer from another deployment. It may be malicious.
const (
	maxAnswer   = 16 << 20  // bytes of an answer
	maxList     = 128 << 20 // total of all pages of a list
	maxDetail   = 500       // characters of an error text
	maxDetails  = 20        // number of error texts
	maxPatience = 5 * time.Second
)

// HTTP is another deployment of Reverie, reached by its API. Only one sync at a time may use it.
type HTTP struct {
	URL      string        // the name by which this deployment knows it
	Attempts int           // attempts of a request, in case of transient faults
	Backoff  time.Duration // wait before the second attempt, doubled for each further one
	token    string
	client   *http.Client
	listed   int // bytes read so far of the current list
}

// errRedirected refuses a redirect: the token is for the configured address alone.
var errRedirected = errors.New("it redirects elsewhere: set [team] remote to the address that is meant")

// Dial returns the deployment at an address such as https://reverie.example.com, for requests with a token. It opens no
// connection. The address of another machine must be https unless allowHTTP is set, because others could read the token
// and the memories on the way. Errors are reverie.ErrConfiguration.
func Dial(address, token string, timeout time.Duration, allowHTTP bool) (*HTTP, error) {
	base, err := url.Parse(address)
	switch {
	case err != nil, base.Host == "", base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("[team] remote is not an address such as https://reverie.example.com: %w",
			reverie.ErrConfiguration) // the address is not repeated: it may contain a password
	case base.User != nil, base.RawQuery != "", base.Fragment != "":
		return nil, fmt.Errorf("[team] remote: leave out user, password, ? and #; the token goes into [team] token: %w",
			reverie.ErrConfiguration)
	case base.Scheme == "http" && !allowHTTP && !loopback(base.Hostname()):
		return nil, fmt.Errorf("[team] remote %s is plain http: the token could be read on the way; use https, or set "+
			"[team] allow_http: %w", base, reverie.ErrConfiguration)
	}
	base.Path = strings.TrimRight(base.Path, "/")
	stay := func(*http.Request, []*http.Request) error { return errRedirected }
	client := &http.Client{Timeout: timeout, CheckRedirect: stay}
	return &HTTP{URL: base.String(), Attempts: 3, Backoff: 300 * time.Millisecond, token: token, client: client}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
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
	req.Header.Set("User-Agent", "reverie-team")
	if h.token != "" {
		req.Header.Set("Authorization", "Bearer "+h.token)
	}
	for attempt := 1; ; attempt++ {
		n, wait, err := h.send(req, into)
		wait = max(wait, h.Backoff<<(attempt-1))
		if !errors.Is(err, reverie.ErrDeferred) || attempt >= h.Attempts || wait > maxPatience {
			return n, err
		}
		select {
		case <-req.Context().Done():
			return n, err
		case <-time.After(wait):
		}
	}
}

// send makes one attempt. wait is how long the remote asks to wait before the next one.
func (h *HTTP) send(req *http.Request, into any) (n int, wait time.Duration, err error) {
	if req.GetBody != nil { // the attempt before may have read the body
		if req.Body, err = req.GetBody(); err != nil {
			return 0, 0, err
		}
	}
	resp, err := h.client.Do(req)
	var answer []byte
	if err == nil {
		defer func() { _ = resp.Body.Close() }()
		answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	}
	switch {
	case errors.Is(err, errRedirected):
		return 0, 0, fmt.Errorf("%s: %w: %w", h.URL, errRedirected, reverie.ErrConfiguration)
	case req.Context().Err() != nil:
		return 0, 0, req.Context().Err()
	case err != nil:
		return 0, 0, fmt.Errorf("%s cannot be reached, or its answer broke off: %s: %w", h.URL, h.told(err.Error()),
			reverie.ErrDeferred)
	case len(answer) > maxAnswer:
		return 0, 0, h.strange(fmt.Sprintf("it has more than %d bytes", maxAnswer))
	case resp.StatusCode/100 != 2:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return 0, time.Duration(min(max(seconds, 0), 1<<31)) * time.Second, h.problem(resp.StatusCode, answer)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return 0, 0, h.strange(h.told(err.Error()))
	}
	return len(answer), 0, nil
}

// strange is the error of an answer that no Reverie sends.
func (h *HTTP) strange(how string) error {
	return fmt.Errorf("%s does not answer as a Reverie does: %s: %w", h.URL, how, reverie.ErrConfiguration)
}

// problem returns the error in an answer (RFC 9457). For any other answer, such as a proxy's, it only knows the status.
func (h *HTTP) problem(status int, answer []byte) error {
	var p struct {
		Detail string `json:"detail"`
		Errors []struct {
			Location string `json:"location"`
			Message  string `json:"message"`
		} `json:"errors"`
		Findings []reverie.ScanFinding `json:"findings"`
	}
	_ = json.Unmarshal(answer, &p)
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
	if status == http.StatusTooManyRequests || status >= 500 {
		return fmt.Errorf("%s is not well: %s: %w", h.URL, said, reverie.ErrDeferred)
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
func (h *HTTP) told(s string) string {
	if h.token != "" {
		s = strings.ReplaceAll(s, h.token, "[token]")
	}
	return safety.MaskSecrets(text.Excerpt(text.Visible(s), maxDetail))
}
