// Package webhook sends signed requests to the addresses of users, after the Standard Webhooks specification.
package webhook

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"code.dny.dev/ssrf"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"reverie/internal/remote"
	"reverie/internal/reverie"
)

// Options of a [Sender].
type Options struct {
	AllowPrivate bool // allow private networks, proxies and plain HTTP
	Timeout      time.Duration
	Now          func() time.Time
}

// Sender sends requests. It does not follow redirects.
type Sender struct {
	Options
	client http.Client
}

// public allows only addresses of the public Internet, on any port.
var public = ssrf.New(ssrf.WithAnyPort())

// NewSender returns a sender. The caller must close it.
func NewSender(o Options) *Sender {
	s := &Sender{Options: o}
	t := http.DefaultTransport.(*http.Transport).Clone() // a transport of its own, whose connections Close can end
	t.MaxResponseHeaderBytes = 1 << 16
	if !o.AllowPrivate { // checked when a connection is dialled, since the address of a name may change
		t.Proxy, t.DialContext = nil, (&net.Dialer{Timeout: o.Timeout, Control: public.Safe}).DialContext
	}
	s.client.Transport = t
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return s
}

// Close ends the sender's idle connections.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// CheckURL returns [reverie.ErrInvalid] for an address to which the sender would send nothing.
func (s *Sender) CheckURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" || len(address) > 2000 {
		return fmt.Errorf("the address is no URL of a server: write one such as https://example.com/hook: %w", reverie.ErrInvalid)
	}
	if s.AllowPrivate {
		return nil
	}
	if u.Scheme != "https" {
		return fmt.Errorf("the address is not https://: what is sent could be read on its way. "+
			"[webhooks] allow_private = true allows that: %w", reverie.ErrInvalid)
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && public.SafeAddr(ip) != nil {
		return fmt.Errorf("%w: %w", errPrivate, reverie.ErrInvalid)
	}
	return nil
}

var errPrivate = errors.New("the webhook's address is not public: [webhooks] allow_private = true allows that")

const prefix = "whsec_"

// NewSecret makes a secret for signatures.
func NewSecret() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // rand.Read never returns an error: it ends the process
	return prefix + base64.StdEncoding.EncodeToString(key)
}

// Key returns the signing key of a secret: base64 after whsec_, else the text itself.
func Key(secret string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(secret, prefix)
	if !ok {
		return []byte(secret), nil
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) == 0 {
		return nil, errors.New("what follows whsec_ is no base64, or nothing")
	}
	return key, nil
}

// Answer is the answer of a webhook.
type Answer struct {
	Status int           // 0: no answer
	After  time.Duration // how long the webhook asks to wait
}

// Send posts a body once, signed unless the key is empty. An answer other than 2xx is an error. Errors do not repeat
// the address, which may contain a secret.
func (s *Sender) Send(ctx context.Context, address string, key []byte, id string, body []byte) (a Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return a, errors.New("the webhook's address is no URL")
	}
	at := s.Now()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "reverie")
	req.Header.Set(standardwebhooks.HeaderWebhookID, id)
	req.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	if len(key) > 0 {
		signer, _ := standardwebhooks.NewWebhookRaw(key) // neither call can fail
		signature, _ := signer.Sign(id, at, body)
		req.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	}
	resp, err := s.client.Do(req)
	switch {
	case errors.Is(err, ssrf.ErrProhibitedIP):
		return a, errPrivate
	case err != nil:
		return a, fmt.Errorf("the webhook could not be reached: %w", cause(err))
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 4096) // so that the connection can be reused
	_ = resp.Body.Close()
	switch a = (Answer{resp.StatusCode, remote.RetryAfter(resp.Header, s.Now())}); {
	case a.Status < 300:
		return a, nil
	case a.Status < 400:
		return a, fmt.Errorf("the webhook sends us elsewhere (HTTP %d), and redirects are not followed: "+
			"give the address of where it is", a.Status)
	}
	return a, fmt.Errorf("the webhook answered HTTP %d", a.Status)
}

// cause says why there is no answer. It repeats nothing that was received, because the owner of a webhook must not read
// internal servers through it.
func cause(err error) error {
	late, network, certificate := net.Error(nil), (*net.OpError)(nil), (*tls.CertificateVerificationError)(nil)
	switch {
	case errors.As(err, &late) && late.Timeout():
		return errors.New("it did not answer in time")
	case errors.As(err, &certificate):
		return errors.New("its certificate is not valid for its name, or of nobody who is trusted")
	case errors.As(err, &network):
		return network
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it ended the connection without an answer")
	}
	return errors.New("it answered in something other than HTTP")
}
