package localdb

import "syscall"

// endWithParent makes the kernel shut the server down when the thread that started it ends.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGINT }
