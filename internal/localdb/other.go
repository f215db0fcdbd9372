//go:build !unix

package localdb

import (
	"context"
	"fmt"
	"log/slog"

	"reverie/internal/reverie"
)

// errNone is the error of all functions on systems without the file locks that a private server needs.
var errNone = fmt.Errorf("there is no private PostgreSQL on this system: set REVERIE_DATABASE_URL to a database with pgvector: %w",
	reverie.ErrConfiguration)

// Options are accepted and not used.
type Options struct {
	Dir, BinDir string
	Log         *slog.Logger
}

// Location is empty.
type Location struct{ Asked, Dir, User string }

// Moved is false.
func (Location) Moved() bool { return false }

// Cluster is never created.
type Cluster struct{}

// Location returns the empty location.
func (*Cluster) Location() Location { return Location{} }

// URL is empty.
func (*Cluster) URL(string) string { return "" }

// EnsureDatabase fails.
func (*Cluster) EnsureDatabase(context.Context, string) error { return errNone }

// Close does nothing.
func (*Cluster) Close() error { return nil }

// DefaultDir fails.
func DefaultDir(func(string) string) (string, error) { return "", errNone }

// Start fails.
func Start(context.Context, Options) (*Cluster, error) { return nil, errNone }

// Supervise fails.
func Supervise(context.Context, string) error { return errNone }
