//go:build unix

package chromium

import (
	"os/exec"
	"syscall"
	"time"
)

// waitDelay bounds the wait for pipes that a child of the browser holds open.
const waitDelay = 2 * time.Second

// ownGroup starts the browser as the head of a group of processes, which is killed as a whole.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = waitDelay
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// endGroup kills the rest of the group.
func endGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
