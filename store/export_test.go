package store

import (
	"context"
	"net"
)

// WithDial makes a store connect through another network.
func WithDial(o Options, dial func(ctx context.Context, network, address string) (net.Conn, error)) Options {
	o.dial = dial
	return o
}
