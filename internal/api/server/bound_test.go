package server

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"reverie/internal/api"
	"reverie/internal/api/problem"
)

// pipe is a listener of one connection without a network, whose time a bubble can hold.
type pipe chan net.Conn

func (p pipe) Accept() (net.Conn, error) {
	if conn, ok := <-p; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (p pipe) Close() error   { return nil }
func (p pipe) Addr() net.Addr { return &net.UnixAddr{} }

// linked serves one connection with the bounds of a request and a room, and returns the
// client's end.
func linked(t *testing.T, room http.HandlerFunc) net.Conn {
	t.Helper()
	client, _ := linkedTo(t, room)
	return client
}

// linkedTo is linked, and the server.
func linkedTo(t *testing.T, room http.HandlerFunc) (net.Conn, *Server) {
	t.Helper()
	s, err := New(Options{Service: &api.Service{}, EvolveWait: time.Minute, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	listener := make(pipe, 1)
	inner := &http.Server{ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := s.begin(w, r)
		defer x.end()
		x.limit = s.limitOf(r)
		defer x.bound()()
		room(x.answer, x.request)
	})}
	client, conn := net.Pipe()
	listener <- conn
	go func() { _ = inner.Serve(listener) }()
	t.Cleanup(func() {
		close(listener)
		_ = client.Close()
		_ = inner.Close()
	})
	return client, s
}

// TestSlowBody waits for the body of a request as long as the request may take, and for
// messages as long as some keep coming, up to an hour.
func TestSlowBody(t *testing.T) {
	for _, c := range []struct {
		path   string
		every  time.Duration // between two bytes
		bytes  int
		length int
		ends   time.Duration // 0: the body is read whole
	}{
		{"/v1/groups/g/context", time.Second, 29, 29, 0},
		{"/v1/groups/g/context", time.Second, 60, 60, 30 * time.Second},
		{"/memory/evolve/g", 10 * time.Second, 8, 8, 0},
		{"/memory/evolve/g", 10 * time.Second, 60, 60, 90 * time.Second},
		{"/ui/groups/a%2Fb/evolve", 10 * time.Second, 8, 8, 0},
		{"/v1/groups/g/messages", 29 * time.Second, 100, 100, 0},
		{"/v1/groups/g/messages", 31 * time.Second, 100, 100, 30 * time.Second},
		{"/v1/groups/g/messages", 29 * time.Second, 1000, 1000, time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			type got struct {
				n     int64
				err   error
				after time.Duration
			}
			read, began := make(chan got, 1), time.Now()
			client := linked(t, func(_ http.ResponseWriter, r *http.Request) {
				n, err := io.Copy(io.Discard, r.Body)
				read <- got{n, err, time.Since(began)}
			})
			var sender sync.WaitGroup
			sender.Go(func() {
				fmt.Fprintf(client, "POST %s HTTP/1.1\r\nHost: r\r\nContent-Length: %d\r\n\r\n", c.path, c.length)
				for range c.bytes {
					time.Sleep(c.every)
					if _, err := io.WriteString(client, "x"); err != nil {
						return
					}
				}
			})
			go func() { _, _ = io.Copy(io.Discard, client) }()
			defer sender.Wait()
			switch g := <-read; {
			case c.ends == 0 && (g.err != nil || g.n != int64(c.length)):
				t.Errorf("%s, a byte every %s: %d bytes and %v after %s", c.path, c.every, g.n, g.err, g.after)
			case c.ends > 0 && (!errors.Is(g.err, os.ErrDeadlineExceeded) || g.after != c.ends): // the bubble's clock, which is exact
				t.Errorf("%s, a byte every %s: ended with %v after %s, want %s", c.path, c.every, g.err, g.after, c.ends)
			}
		})
	}
}

// TestLongWork is not cancelled by the limits on what a client sends.
func TestLongWork(t *testing.T) {
	for _, body := range []string{"", "x"} {
		synctest.Test(t, func(t *testing.T) {
			result := make(chan error, 1)
			client := linked(t, func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.ReadAll(r.Body)
				select {
				case <-r.Context().Done():
					result <- r.Context().Err()
				case <-time.After(85 * time.Second):
					result <- nil
				}
			})
			go fmt.Fprintf(client, "POST /memory/evolve/g HTTP/1.1\r\nHost: r\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			go func() { _, _ = io.Copy(io.Discard, client) }()
			if err := <-result; err != nil {
				t.Errorf("with a body of %q: %v", body, err)
			}
		})
	}
}

// TestSlowReader takes an answer in its time, or is hung up on.
func TestSlowReader(t *testing.T) {
	for path, patience := range map[string]time.Duration{"GET /v1/groups": 60 * time.Second, "POST /v1/groups/g/messages": 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			ended, began := make(chan time.Duration, 1), time.Now()
			client := linked(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.ReadAll(r.Body)
				_, err := io.WriteString(w, strings.Repeat("x", 1<<20))
				if err == nil {
					t.Errorf("%s: what nobody took was sent", path)
				}
				ended <- time.Since(began)
			})
			go fmt.Fprintf(client, "%s HTTP/1.1\r\nHost: r\r\nContent-Length: 1\r\n\r\nx", path)
			if got := <-ended; got != patience {
				t.Errorf("%s: hung up after %s, want %s", path, got, patience)
			}
		})
	}
}

// TestRefusedBody waits a second for what nobody reads.
func TestRefusedBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := linked(t, nil)
		began := time.Now()
		go io.WriteString(client, "POST /v1/groups HTTP/1.1\r\nHost: r\r\nContent-Length: 1000\r\n\r\nno more")
		if _, err := io.Copy(io.Discard, client); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < parting || took > 2*parting {
			t.Errorf("hung up after %s", took)
		}
	})
}

// TestLimitsForget keeps no more counts than it may, the newest.
func TestLimitsForget(t *testing.T) {
	l, now := newLimits(1), time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	for i := range maxLimits + 10 {
		l.take(fmt.Sprint(i), now)
		l.take("regular", now)
	}
	if l.byKey.Len() != maxLimits {
		t.Errorf("%d are kept", l.byKey.Len())
	}
	if l.byKey.Contains("0") || !l.byKey.Contains("regular") || l.take("regular", now) == 0 {
		t.Error("the wrong one was forgotten")
	}
}

// TestLoopback is where to listen while no token was ever made.
func TestLoopback(t *testing.T) {
	for listen, want := range map[string]string{
		":8470": "127.0.0.1:8470", "0.0.0.0:8470": "127.0.0.1:8470", "[::]:8470": "127.0.0.1:8470", "10.1.2.3:80": "127.0.0.1:80", "reverie.example:80": "127.0.0.1:80",
		"127.0.0.1:8470": "127.0.0.1:8470", "[::1]:8470": "[::1]:8470", "localhost:8470": "localhost:8470", "127.9.9.9:1": "127.9.9.9:1", "": "", "8470": "8470",
	} {
		if got := loopback(listen); got != want {
			t.Errorf("%q: %q, want %q", listen, got, want)
		}
	}
}

// TestStopEndsStreams ends messages that come in where they stand, at once, and leaves
// other bodies their time.
func TestStopEndsStreams(t *testing.T) {
	for path, ends := range map[string]bool{"/v1/groups/g/messages": true, "/v1/groups/g/context": false} {
		synctest.Test(t, func(t *testing.T) {
			read, began := make(chan string, 1), time.Now()
			client, s := linkedTo(t, func(_ http.ResponseWriter, r *http.Request) {
				text, err := io.ReadAll(r.Body)
				if says := (*problem.Problem)(nil); ends != errors.As(err, &says) || ends && says.Status != http.StatusServiceUnavailable {
					t.Errorf("%s: %v", path, err)
				}
				read <- string(text)
			})
			go func() { _, _ = io.Copy(io.Discard, client) }()
			fmt.Fprintf(client, "POST %s HTTP/1.1\r\nHost: r\r\nContent-Length: 9\r\n\r\nwhole\n", path)
			synctest.Wait()
			s.Stopping()
			if !ends {
				_, _ = io.WriteString(client, "end")
			}
			if got := <-read; !strings.HasPrefix(got, "whole\n") || time.Since(began) != 0 {
				t.Errorf("%s: %q after %s", path, got, time.Since(began))
			}
		})
	}
}

// TestBudget lets nobody hold more than half, and all of them no more than all.
func TestBudget(t *testing.T) {
	b := newBudget(10, 5)
	for i, c := range []struct {
		key  string
		n    int64
		want bool
	}{{"a", 5, true}, {"a", 1, false}, {"b", 4, true}, {"c", 2, false}, {"c", 1, true}, {"d", 1, false}} {
		if got := b.take(c.key, c.n); got != c.want {
			t.Errorf("%d: %v", i, got)
		}
	}
	b.give("a", 5)
	if !b.take("d", 5) || b.held != 10 || len(b.byKey) != 3 {
		t.Errorf("%d of %v", b.held, b.byKey)
	}
}

// TestMemory reads what cgroups and machines say of it.
func TestMemory(t *testing.T) {
	for text, want := range map[string]int64{"536870912\n": 512 << 20, "max\n": math.MaxInt64, "": math.MaxInt64,
		"MemTotal:       1024 kB\nMemFree: 1 kB\n": 1 << 20, "9223372036854771712\n": 9223372036854771712} {
		if got := sizeIn([]byte(text)); got != want {
			t.Errorf("%q is %d", text, got)
		}
	}
	if n := memory(); n < 64<<20 {
		t.Errorf("this machine has %d bytes", n)
	}
}
