package localdb

import "syscall"

// endWithParent has the kernel send a signal to the process when the thread that starts
// it ends.
func endWithParent(attr *syscall.SysProcAttr, signal syscall.Signal) { attr.Pdeathsig = signal }
