package localdb

import "syscall"

// dieWithParent has the kernel kill the process when the thread that starts it
// ends.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
