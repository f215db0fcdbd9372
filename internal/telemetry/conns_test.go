package telemetry

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// crowd is a server of a bounded number of connections, in a bubble.
type crowd struct {
	*Server
	t        *testing.T
	listener *pipes
	asked    chan struct{} // a request is under way
	release  chan struct{} // and may be answered
}

func newCrowd(t *testing.T, conns int) *crowd {
	c := &crowd{t: t, listener: &pipes{make(chan net.Conn), make(chan struct{})}, asked: make(chan struct{}), release: make(chan struct{})}
	c.Server = &Server{MaxConns: conns, Log: slog.New(slog.DiscardHandler), Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			c.asked <- struct{}{}
			<-c.release
		}
	})}
	c.serve(c.listener)
	return c
}

// join connects, and sends a text.
func (c *crowd) join(text string) net.Conn {
	client, server := net.Pipe()
	c.t.Cleanup(func() { _ = client.Close() })
	go func() {
		c.listener.conns <- server
		_, _ = io.WriteString(client, text)
	}()
	synctest.Wait()
	return client
}

// gone tells whether the server has hung up on a client that it has not answered.
func gone(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := conn.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}

func answeredOK(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	return err == nil && resp.StatusCode == 200
}

const (
	asks  = "GET / HTTP/1.1\r\nHost: reverie\r\n\r\n"
	waits = "GET /wait HTTP/1.1\r\nHost: reverie\r\n\r\n"
)

// TestCrowd answers one more than there is room for, in the place of who is slow, else of
// who is idle.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 3)
		busy := c.join(waits)
		<-c.asked
		idle := c.join(asks)
		if !answeredOK(idle) {
			t.Error("the idle one was not answered")
		}
		slow := c.join("GET / HTTP/1.1\r\nHo")
		first := c.join(asks)
		if !answeredOK(first) || !gone(idle) || gone(slow) {
			t.Error("the first one more does not have the place of who is idle, while who has just come may still send")
		}
		time.Sleep(grace)
		second := c.join(asks)
		if !answeredOK(second) || !gone(slow) || gone(first) {
			t.Error("the second one more does not have the place of who is slow")
		}
		close(c.release)
		if !answeredOK(busy) {
			t.Error("the busy one was not answered")
		}
		if err := c.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestFullCrowd lets nobody in before one of those who have requests under way is done,
// and ends all the same.
func TestFullCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 2)
		var busy []net.Conn
		for range 2 {
			busy = append(busy, c.join(waits))
			<-c.asked
		}
		late := c.join(asks)
		later := c.join(asks)
		if gone(late) || gone(later) {
			t.Error("who has to wait was sent away")
		}
		for _, conn := range busy {
			go func() { _, _ = io.Copy(io.Discard, conn) }()
		}
		c.release <- struct{}{} // one is done, and idle
		if !answeredOK(late) || !answeredOK(later) {
			t.Error("there was room, and it was not given")
		}
		c.join(waits)
		<-c.asked
		last := c.join(asks)
		go close(c.release)
		if err := c.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if !gone(last) {
			t.Error("who waited to be let in was not sent away at the end")
		}
	})
}

// TestManyStrangers: a thousand who send nothing, or no more than a letter, keep nobody
// from being answered in a moment.
func TestManyStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 10)
		for i := range 1000 {
			c.join(strings.Repeat("G", i%2))
		}
		began := time.Now()
		if !answeredOK(c.join(asks)) {
			t.Error("no answer")
		}
		if took, most := time.Since(began), 1000/10*grace; took > most { // the bubble's clock
			t.Errorf("the answer took %s, more than %s", took, most)
		}
		if err := c.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
