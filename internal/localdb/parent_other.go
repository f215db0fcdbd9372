//go:build !linux

package localdb

import "syscall"

// dieWithParent exists on Linux only; elsewhere initdb ends on its own.
func dieWithParent(*syscall.SysProcAttr) {}
