//go:build unix

package dbserver

import (
	"os/exec"
	"syscall"
)

// become makes the program run as the account.
func (a account) become(cmd *exec.Cmd) {
	if !a.other {
		return
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: a.uid, Gid: a.gid}}
}
