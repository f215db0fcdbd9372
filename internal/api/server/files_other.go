//go:build !unix

package server

// freeFiles is how many connections the process may have open: as many as anybody needs,
// where the system has no limit.
func freeFiles() int { return mostConns }
