//go:build unix && !linux

package localdb

import "syscall"

// endWithParent does nothing: only Linux supports it.
func endWithParent(*syscall.SysProcAttr) {}
