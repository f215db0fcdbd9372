//go:build unix && !linux

package localdb

import "syscall"

// endWithParent does nothing: only Linux has it.
func endWithParent(*syscall.SysProcAttr) {}
