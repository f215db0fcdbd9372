//go:build !unix

package server

// freeFiles returns the maximum number of open connections: mostConns, since the system has no limit.
func freeFiles() int { return mostConns }
