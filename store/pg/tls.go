package pg

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/lib/pq"
)

// The driver would do TLS on top of the link that it is given, and so above [queue], which could not read the messages
// then. So the dialer does TLS below the queue, with the driver's own function, and all settings keep their meaning.
// The driver is told that there is no TLS. With a release of the driver that lacks this function, the program does not
// link.

//go:linkname upgrade github.com/lib/pq.ssl
func upgrade(cfg pq.Config, mode pq.SSLMode) (func(net.Conn) (net.Conn, error), error)

// sslRequest asks a server whether it supports TLS.
var sslRequest = []byte{0, 0, 0, 8, 4, 210, 22, 47}

// open opens a link with the TLS that the settings ask for.
func (d *dialer) open(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.dial(ctx, network, address)
	if err != nil || d.cfg.SSLMode == pq.SSLModeDisable || network == "unix" {
		return conn, err
	}
	encrypted, err := d.encrypt(ctx, conn, d.names[address])
	if err == nil {
		return encrypted, nil
	}
	_ = conn.Close()
	if d.cfg.SSLMode == pq.SSLModePrefer {
		return d.dial(ctx, network, address)
	}
	return nil, err
}

// encrypt begins TLS with the host of that name.
func (d *dialer) encrypt(ctx context.Context, conn net.Conn, name string) (net.Conn, error) {
	cfg := d.cfg
	cfg.Host = name
	up, err := upgrade(cfg, cfg.SSLMode)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	if cfg.SSLNegotiation != pq.SSLNegotiationDirect {
		var answer [1]byte
		if _, err := conn.Write(sslRequest); err != nil {
			return nil, err
		}
		if _, err := io.ReadFull(conn, answer[:]); err != nil {
			return nil, err
		}
		if answer[0] != 'S' {
			return nil, fmt.Errorf("%w; sslmode=disable does without", pq.ErrSSLNotSupported)
		}
	}
	link, err := up(conn)
	if err != nil {
		return nil, err
	}
	return link, link.(*tls.Conn).Handshake()
}

// hosts returns all hosts in the settings.
func hosts(cfg pq.Config) []pq.ConfigMultihost {
	return append([]pq.ConfigMultihost{{Host: cfg.Host, Hostaddr: cfg.Hostaddr, Port: cfg.Port}}, cfg.Multi...)
}

// namesOf maps the addresses that the driver dials to the names of hosts.
func namesOf(cfg pq.Config) map[string]string {
	names := map[string]string{}
	for _, h := range hosts(cfg) {
		at := h.Host
		if h.Hostaddr.IsValid() {
			at = h.Hostaddr.String()
		}
		names[net.JoinHostPort(at, strconv.Itoa(int(h.Port)))] = h.Host
	}
	return names
}
