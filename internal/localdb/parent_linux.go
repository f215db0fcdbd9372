package localdb

import "syscall"

// endWithParent has the kernel tell a server to shut down when the thread that starts it
// ends.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGINT }
