package store_test

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/pem"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/lib/pq"

	"reverie/store"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// tlsProxy stands in front of the test's PostgreSQL and speaks TLS for it, as 127.0.0.1 and example.com.
type tlsProxy struct {
	t        testing.TB
	config   *tls.Config
	root     string // a file
	port     string
	database string
	refuses  bool // to speak TLS

	mu       sync.Mutex
	requests map[string]int // how many links began with what
}

const (
	cancelRequest = 80877102
	askForTLS     = 80877103
)

func newTLSProxy(t testing.TB) *tlsProxy {
	web := httptest.NewTLSServer(nil) // for its certificate
	web.Close()
	p := &tlsProxy{t: t, config: &tls.Config{Certificates: web.TLS.Certificates}, root: filepath.Join(t.TempDir(), "root.crt"),
		requests: map[string]int{}}
	check(t, os.WriteFile(p.root, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}), 0o600))
	server := must(pq.NewConfig(pgtest.URL(t)))(t)
	network, address := "tcp", net.JoinHostPort(server.Host, strconv.Itoa(int(server.Port)))
	if filepath.IsAbs(server.Host) {
		network, address = "unix", filepath.Join(server.Host, ".s.PGSQL."+strconv.Itoa(int(server.Port)))
	}
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	_, p.port, _ = net.SplitHostPort(listener.Addr().String())
	p.database = "user=" + server.User + " password='" + server.Password + "' dbname=" + server.Database
	var served sync.WaitGroup
	served.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			served.Go(func() { p.serve(client, network, address) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		served.Wait()
	})
	return p
}

// url names the database as one of host, with settings in turns.
func (p *tlsProxy) url(host string, settings ...string) string {
	text := p.database + " host=" + host + " port=" + p.port
	for i := 0; i < len(settings); i += 2 {
		text += " " + settings[i] + "=" + settings[i+1]
	}
	return text
}

func (p *tlsProxy) serve(client net.Conn, network, address string) {
	defer func() { _ = client.Close() }()
	how := "plain"
	first := make([]byte, 8)
	read := func() (code uint32, err error) {
		_, err = io.ReadFull(client, first)
		return binary.BigEndian.Uint32(first[4:]), err
	}
	code, err := read()
	if code == askForTLS {
		if p.refuses {
			_, _ = client.Write([]byte("N"))
			return
		}
		_, _ = client.Write([]byte("S"))
		client, how = tls.Server(client, p.config), "TLS"
		code, err = read()
	}
	if err != nil { // such as of who does not trust us
		return
	}
	if code == cancelRequest {
		how += ", to cancel"
	}
	p.mu.Lock()
	p.requests[how]++
	p.mu.Unlock()
	server, err := net.Dial(network, address)
	if err != nil {
		p.t.Error(err)
		return
	}
	defer func() { _ = server.Close() }()
	_, _ = server.Write(first)
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
}

func (p *tlsProxy) began(how string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests[how]
}

// The settings mean what they mean to PostgreSQL's own clients.
func TestTLS(t *testing.T) {
	p := newTLSProxy(t)
	for name, c := range map[string]struct {
		refuses       bool
		url, how, err string
	}{
		"loopback needs none":   {url: p.url("127.0.0.1"), how: "plain"},
		"disable":               {url: p.url("127.0.0.1", "sslmode", "disable"), how: "plain"},
		"require":               {url: p.url("127.0.0.1", "sslmode", "require"), how: "TLS"},
		"require of who has it": {refuses: true, url: p.url("127.0.0.1", "sslmode", "require"), err: pq.ErrSSLNotSupported.Error()},
		"prefer":                {url: p.url("127.0.0.1", "sslmode", "prefer"), how: "TLS"},
		"prefer, in vain":       {refuses: true, url: p.url("127.0.0.1", "sslmode", "prefer"), how: "plain"},
		"allow":                 {url: p.url("127.0.0.1", "sslmode", "allow"), how: "TLS"},
		"allow, in vain":        {refuses: true, url: p.url("127.0.0.1", "sslmode", "allow"), how: "plain"},
		"verify-ca":             {url: p.url("localhost", "sslmode", "verify-ca", "sslrootcert", p.root), how: "TLS"},
		"verify-ca, unknown":    {url: p.url("localhost", "sslmode", "verify-ca"), err: "unknown authority"},
		"verify-full":           {url: p.url("127.0.0.1", "sslmode", "verify-full", "sslrootcert", p.root), how: "TLS"},
		"verify-full, unknown":  {url: p.url("127.0.0.1", "sslmode", "verify-full", "sslrootcert", "system"), err: "unknown authority"},
		"verify-full, misnamed": {url: p.url("localhost", "sslmode", "verify-full", "sslrootcert", p.root), err: "valid for example.com"},
		"the name of an address": {url: p.url("example.com", "hostaddr", "127.0.0.1", "sslmode", "verify-full", "sslrootcert",
			p.root), how: "TLS"},
		"the host that is trusted": {url: p.url("localhost,127.0.0.1", "sslmode", "verify-full", "sslrootcert", p.root,
			"target_session_attrs", "read-write"), how: "TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			p.refuses = c.refuses
			before := p.began(c.how)
			s, err := store.Open(t.Context(), pg.Options{URL: c.url, MaxConns: 1})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %q in it", err, c.err)
				}
				return
			}
			check(t, err)
			check(t, s.Close())
			if n := p.began(c.how) - before; n != 1 {
				t.Errorf("%d links began with %s: %v", n, c.how, p.requests)
			}
		})
	}
}

// A statement that nobody waits for any longer is canceled by a link that is no less secret.
func TestCancelBehindTLS(t *testing.T) {
	p := newTLSProxy(t)
	s := must(store.Open(t.Context(), pg.Options{URL: p.url("127.0.0.1", "sslmode", "verify-full", "sslrootcert", p.root)}))(t)
	defer func() { _ = s.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	var slept string
	done := make(chan error)
	go func() { done <- s.DB().QueryRow(ctx, "sleep", &slept, `select pg_sleep(600)::text`) }()
	db := raw(t)
	const asleep = `select count(*) from pg_stat_activity where state = 'active' and wait_event = 'PgSleep' and datname = current_database()`
	for count(t, db, asleep) == 0 {
		runtime.Gosched()
	}
	cancel()
	wantErr(t, <-done, context.Canceled)
	for count(t, db, asleep) > 0 {
		runtime.Gosched()
	}
	if p.began("TLS, to cancel") != 1 || p.began("plain, to cancel") > 0 {
		t.Errorf("requests: %v", p.requests)
	}
}
