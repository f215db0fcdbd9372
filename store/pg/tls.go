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

// The driver lays TLS on whatever link it is given, and so above [queue], which could then read no
// messages. The dialer does it beneath, by the driver's own function: all settings mean what they
// do to the driver, which is told that there is no TLS. A release of the driver without this
// function does not link.

//go:linkname upgrade github.com/lib/pq.ssl
func upgrade(cfg pq.Config, mode pq.SSLMode) (func(net.Conn) (net.Conn, error), error)

// sslRequest asks a server whether it speaks TLS.
var sslRequest = []byte{0, 0, 0, 8, 4, 210, 22, 47}

// open opens a link as the settings want it.
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

// hosts are all of which one is to be connected to.
func hosts(cfg pq.Config) []pq.ConfigMultihost {
	return append([]pq.ConfigMultihost{{Host: cfg.Host, Hostaddr: cfg.Hostaddr, Port: cfg.Port}}, cfg.Multi...)
}

// namesOf are the names of hosts by the address that the driver dials.
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
