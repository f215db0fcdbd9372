package main

import (
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// countingProxy stands between a process and PostgreSQL and counts what is asked.
type countingProxy struct {
	url      string
	trips    atomic.Int64 // requests that wait for an answer
	commands atomic.Int64 // statements among them; preparing one is none
}

// newCountingProxy listens for connections to the server that target names.
func newCountingProxy(b *testing.B, target string) *countingProxy {
	b.Helper()
	u, err := url.Parse(target)
	if err != nil {
		b.Fatal(err)
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
		b.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		b.Fatal(err)
	}
	query.Set("host", dir)
	query.Set("port", "5432")
	query.Set("sslmode", "disable")
	u.Host, u.RawQuery = "", query.Encode()
	p := &countingProxy{url: u.String()}
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
	b.Cleanup(func() {
		_ = listener.Close()
		served.Wait()
		_ = os.RemoveAll(dir)
	})
	return p
}

func (p *countingProxy) serve(client net.Conn, network, address string) {
	defer client.Close()
	server, err := net.Dial(network, address)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	}()
	_ = p.requests(server, client)
}

// requests passes on what the client sends, message by message.
func (p *countingProxy) requests(server io.Writer, client io.Reader) error {
	head := make([]byte, 5)
	// The first message has no type.
	if _, err := io.ReadFull(client, head[1:]); err != nil {
		return err
	}
	if _, err := server.Write(head[1:]); err != nil {
		return err
	}
	for first := true; ; first = false {
		if !first {
			if _, err := io.ReadFull(client, head); err != nil {
				return err
			}
			switch head[0] {
			case 'Q':
				p.trips.Add(1)
				p.commands.Add(1)
			case 'S':
				p.trips.Add(1)
			case 'E':
				p.commands.Add(1)
			}
			if _, err := server.Write(head); err != nil {
				return err
			}
		}
		if _, err := io.CopyN(server, client, int64(binary.BigEndian.Uint32(head[1:]))-4); err != nil {
			return err
		}
	}
}
