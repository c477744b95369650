package paste_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience limits one script: it compiles, when nothing is cached.
const patience = 5 * time.Minute

// paste runs lines in dir as a person would who pastes them into a shell there,
// and returns what they print. What they leave running is ended.
func paste(t *testing.T, dir, lines string) (output string, err error) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "script")
	must(t, os.WriteFile(script, []byte(lines), 0o600))
	self, err := os.Executable()
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	shell := exec.CommandContext(ctx, self)
	shell.Dir = dir
	shell.Env = append(os.Environ(), scriptVariable+"="+script, homeVariable+"="+home, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	shell.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Setpgid: true}
	if os.Getuid() != 0 {
		shell.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		shell.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		shell.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	end := func() error { return syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }
	shell.Cancel = end
	shell.WaitDelay = time.Second // what runs in the background holds the output
	text, err := shell.CombinedOutput()
	if shell.Process != nil {
		_ = end() // there may be nothing left
	}
	if ctx.Err() != nil {
		t.Fatalf("the script did not end:\n%s", text)
	}
	if errors.Is(err, exec.ErrWaitDelay) { // the shell ended well, and left something running
		err = nil
	}
	return string(text), err
}

// inOrder expects each of want in the text, one after the other.
func inOrder(t *testing.T, text string, want ...string) {
	t.Helper()
	rest := text
	for _, w := range want {
		_, after, found := strings.Cut(rest, w)
		if !found {
			t.Errorf("%q is missing, or not in its place, in:\n%s", w, text)
			return
		}
		rest = after
	}
}
