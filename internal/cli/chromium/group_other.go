//go:build !unix

package chromium

import (
	"os/exec"
	"time"
)

// waitDelay bounds the wait for pipes that a child of the browser holds open.
const waitDelay = 2 * time.Second

func ownGroup(cmd *exec.Cmd) { cmd.WaitDelay = waitDelay }

func endGroup(*exec.Cmd) {}
