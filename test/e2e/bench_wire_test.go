package e2e

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// countingProxy stands between a process and PostgreSQL and counts what is asked.
type countingProxy struct {
	url   string
	bytes atomic.Int64 // both ways

	mu    sync.Mutex
	count wireCount
	texts map[string]int // how often each statement was run
}

// wireCount is what went to PostgreSQL, and back.
type wireCount struct {
	trips      int64 // requests that wait for an answer
	statements int64 // among them; preparing one is none
	commits    int64 // of transactions that wrote or locked something: each waits for the disk
	bytes      int64 // both ways
}

func (c wireCount) plus(d wireCount) wireCount {
	return wireCount{c.trips + d.trips, c.statements + d.statements, c.commits + d.commits, c.bytes + d.bytes}
}

func (c wireCount) minus(d wireCount) wireCount {
	return c.plus(wireCount{-d.trips, -d.statements, -d.commits, -d.bytes})
}

// counted is what has come so far.
func (p *countingProxy) counted() wireCount {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.count
	c.bytes = p.bytes.Load()
	return c
}

// newCountingProxy listens for connections to the server that target names.
func newCountingProxy(t testing.TB, target string) *countingProxy {
	t.Helper()
	p := &countingProxy{texts: map[string]int{}}
	p.url = newProxy(t, target, &p.bytes, p.serve)
	return p
}

// distantDatabase is the database that target names, so far away that its answers take that much longer.
func distantDatabase(t testing.TB, target string, away time.Duration) string {
	type packet struct {
		bytes []byte
		due   time.Time
	}
	return newProxy(t, target, new(atomic.Int64), func(client, server net.Conn) {
		underway := make(chan packet, 1000)
		go func() {
			defer close(underway)
			for {
				b := make([]byte, 1<<12)
				n, err := client.Read(b)
				if err != nil {
					return
				}
				underway <- packet{b[:n], time.Now().Add(away)}
			}
		}()
		for p := range underway {
			time.Sleep(time.Until(p.due))
			_, _ = server.Write(p.bytes)
		}
	})
}

// newProxy listens for connections to the server that target names, and returns the URL that leads to
// it. What comes back is passed on, and its bytes are counted; serve passes on what is sent.
func newProxy(t testing.TB, target string, bytes *atomic.Int64, serve func(client, server net.Conn)) string {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	host, port := query.Get("host"), query.Get("port")
	if host == "" {
		host, port = u.Hostname(), u.Port()
	}
	if port == "" {
		port = "5432"
	}
	network, address := "tcp", net.JoinHostPort(host, port)
	if strings.HasPrefix(host, "/") {
		network, address = "unix", filepath.Join(host, ".s.PGSQL."+port)
	}
	dir, err := os.MkdirTemp("", "wire") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	query.Set("host", dir)
	query.Set("port", "5432")
	query.Set("sslmode", "disable")
	u.Host, u.RawQuery = "", query.Encode()
	var served sync.WaitGroup
	served.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			served.Go(func() {
				defer client.Close()
				server, err := net.Dial(network, address)
				if err != nil {
					return
				}
				defer server.Close()
				go func() {
					_, _ = io.Copy(client, countedReader{server, bytes})
					_ = client.Close()
				}()
				serve(client, server)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		served.Wait()
		_ = os.RemoveAll(dir)
	})
	return u.String()
}

func (p *countingProxy) serve(client, server net.Conn) {
	_ = p.requests(server, countedReader{client, &p.bytes})
}

type countedReader struct {
	io.Reader
	n *atomic.Int64
}

func (r countedReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.n.Add(int64(n))
	return n, err
}

// requests passes on what the client sends, message by message.
func (p *countingProxy) requests(server io.Writer, client io.Reader) error {
	c := conversation{proxy: p, prepared: map[string]string{}, bound: map[string]string{}}
	head := make([]byte, 4) // the first message has no type
	if _, err := io.ReadFull(client, head); err != nil {
		return err
	}
	if _, err := server.Write(head); err != nil {
		return err
	}
	if _, err := io.CopyN(server, client, int64(binary.BigEndian.Uint32(head))-4); err != nil {
		return err
	}
	message := make([]byte, 5)
	for {
		message = message[:5]
		if _, err := io.ReadFull(client, message); err != nil {
			return err
		}
		size := 1 + int(binary.BigEndian.Uint32(message[1:]))
		message = slices.Grow(message, size-5)[:size]
		if _, err := io.ReadFull(client, message[5:]); err != nil {
			return err
		}
		c.request(message[0], message[5:])
		if _, err := server.Write(message); err != nil {
			return err
		}
	}
}

// conversation is what is known of one connection.
type conversation struct {
	proxy    *countingProxy
	prepared map[string]string // statements by the name that they were prepared under
	bound    map[string]string // and by their portal's
	wrote    bool              // in the transaction under way
}

var writing = regexp.MustCompile(`(?i)\b(insert into|update [a-z_]+ |delete from|for update|for no key update|for share|for key share)\b`)

// ran counts a statement.
func (c *conversation) ran(text string) {
	c.proxy.count.statements++
	c.proxy.texts[text]++
	switch verb, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(text)), " "); strings.Trim(verb, ";") {
	case "begin", "rollback":
		c.wrote = false
	case "commit":
		if c.wrote {
			c.proxy.count.commits++
		}
		c.wrote = false
	default:
		c.wrote = c.wrote || writing.MatchString(text)
	}
}

func (c *conversation) request(kind byte, body []byte) {
	word := func() string {
		w, rest, _ := bytes.Cut(body, []byte{0})
		body = rest
		return string(w)
	}
	p := c.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	switch kind {
	case 'Q': // a simple query
		p.count.trips++
		c.ran(word())
	case 'S': // sync: an answer is waited for
		p.count.trips++
	case 'P': // parse
		name := word()
		c.prepared[name] = word()
	case 'B': // bind
		portal := word()
		c.bound[portal] = c.prepared[word()]
	case 'E': // execute
		c.ran(c.bound[word()])
	}
}
