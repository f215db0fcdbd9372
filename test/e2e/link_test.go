package e2e

import (
	"errors"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
)

// link stands between a process and PostgreSQL, passes everything on, and
// counts what the process sends: a clock of the process's own steps.
type link struct {
	t        *testing.T
	listener net.Listener
	network  string
	address  string // of PostgreSQL
	dsn      string

	step func(n int) verdict // on the n-th packet

	mu    sync.Mutex
	sent  int
	conns map[net.Conn]bool
	wait  sync.WaitGroup
}

// verdict says what becomes of a packet.
type verdict int

const (
	pass  verdict = iota
	lose          // it is lost, and its connection with it
	sever         // it arrives, and its connection breaks: the reply is lost
)

// newLink stands in front of the database at dsn.
func newLink(t *testing.T, dsn string, step func(n int) verdict) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{t: t, listener: listener, step: step, conns: map[net.Conn]bool{}}
	l.network, l.address, l.dsn = detour(t, dsn, listener.Addr().String())
	l.wait.Go(l.accept)
	t.Cleanup(func() {
		_ = l.listener.Close()
		l.cut()
		l.wait.Wait()
	})
	return l
}

// detour returns where the database at dsn listens, and the dsn by which it is reached
// through who listens at another address instead.
func detour(t *testing.T, dsn, through string) (network, address, detoured string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	network, address = "tcp", u.Host
	port := u.Port()
	if u.Query().Get("port") != "" {
		port = u.Query().Get("port")
	}
	if port == "" {
		port = "5432"
	}
	q := u.Query()
	if dir := q.Get("host"); filepath.IsAbs(dir) {
		network, address = "unix", filepath.Join(dir, ".s.PGSQL."+port)
	} else if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), port)
	}
	q.Del("host")
	q.Del("port")
	if network == "unix" {
		q.Set("sslmode", "disable")
	}
	u.Host, u.RawQuery = through, q.Encode()
	return network, address, u.String()
}

func (l *link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(l.network, l.address)
		if err != nil {
			l.t.Errorf("connect to PostgreSQL: %v", err)
			_ = client.Close()
			continue
		}
		l.mu.Lock()
		l.conns[client], l.conns[server] = true, true
		l.mu.Unlock()
		l.wait.Go(func() { l.forward(server, client) })
		l.wait.Go(func() {
			_, _ = io.Copy(client, server) // ends with either side
			l.drop(client, server)
		})
	}
}

// forward passes on what the process sends, packet by packet.
func (l *link) forward(server, client net.Conn) {
	defer l.drop(client, server)
	packet := make([]byte, 1<<16)
	for {
		n, err := client.Read(packet)
		if n > 0 {
			what := l.count()
			if what == lose {
				return
			}
			if what == sever {
				l.drop(client)
			}
			if _, err := server.Write(packet[:n]); err != nil || what == sever {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (l *link) count() verdict {
	l.mu.Lock()
	l.sent++
	n := l.sent
	l.mu.Unlock()
	return l.step(n)
}

func (l *link) drop(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(l.conns, c)
	}
}

// cut breaks every connection.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			l.t.Logf("cut a connection: %v", err)
		}
	}
}
