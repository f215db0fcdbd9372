//go:build unix

package server

import "syscall"

// freeFiles returns the number of connections that the process may open.
func freeFiles() int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil || files.Cur > mostConns+otherFiles {
		return mostConns
	}
	return max(int(files.Cur)-otherFiles, int(files.Cur)/2, 1)
}
