package store_test

import (
	"bytes"
	"context"
	"encoding/binary"
	stdmaps "maps"
	"net"
	"slices"
	"sync"

	"reverie/store/pg"
	"reverie/store/pgtest"
)

// sent are the distinct statements that the stores of this package's tests have sent to PostgreSQL.
var sent = struct {
	sync.Mutex
	texts map[string]bool
}{texts: map[string]bool{}}

func init() {
	pgtest.Dial = func(dial pg.DialFunc) pg.DialFunc {
		return listening(dial, func() func(byte, []byte) { return keepText })
	}
}

// listening opens connections that hear what the client says: each message, by its type, 0 of the first.
func listening(dial pg.DialFunc, hear func() func(kind byte, message []byte)) pg.DialFunc {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &listened{Conn: c, hear: hear()}, nil
	}
}

func sentStatements() []string {
	sent.Lock()
	defer sent.Unlock()
	return slices.Sorted(stdmaps.Keys(sent.texts))
}

// listened is a connection that hears what the client says.
type listened struct {
	net.Conn
	hear    func(kind byte, message []byte)
	begun   bool // the first message, which has no type, has passed
	secret  bool // what is said is TLS's
	unheard []byte
}

// sslRequest is the length of the first message that asks for TLS, and of no other.
const sslRequest = 8

func (l *listened) Write(b []byte) (int, error) {
	for l.unheard = append(l.unheard, b...); !l.secret; {
		size := 0 // of what is before the length
		if l.begun {
			size = 1
		}
		if len(l.unheard) < size+4 {
			break
		}
		end := size + int(binary.BigEndian.Uint32(l.unheard[size:]))
		if len(l.unheard) < end {
			break
		}
		if l.begun {
			l.hear(l.unheard[0], l.unheard[5:end])
		} else if end != sslRequest {
			l.hear(0, l.unheard[8:end])
		}
		l.secret = l.secret || !l.begun && end == sslRequest
		l.begun, l.unheard = true, l.unheard[end:]
	}
	if l.secret {
		l.unheard = nil
	}
	return l.Conn.Write(b)
}

// keepText keeps the text of a query, or of a statement to prepare, which is behind its name.
func keepText(kind byte, message []byte) {
	if kind == 'P' {
		_, message, _ = bytes.Cut(message, []byte{0})
	} else if kind != 'Q' {
		return
	}
	text, _, _ := bytes.Cut(message, []byte{0})
	sent.Lock()
	defer sent.Unlock()
	sent.texts[string(text)] = true
}
