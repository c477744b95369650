//go:build unix

package dbserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const supported = true

// detach keeps signals of the terminal away from the process: the process that started it
// ends it.
func detach(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
}

// reap says whether our child has ended.
func reap(pid int) bool {
	var status syscall.WaitStatus
	got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
	return got == pid || errors.Is(err, syscall.ECHILD)
}

func sendSignal(pid int, name string) {
	signals := map[string]syscall.Signal{
		"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "QUIT": syscall.SIGQUIT, "KILL": syscall.SIGKILL,
		"HUP": syscall.SIGHUP, "USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2,
	}
	_ = syscall.Kill(pid, signals[name]) // it may have ended on its own; the caller waits for that
}

// stopChecks bounds how often killTree checks whether a process has stopped, a millisecond apart.
const stopChecks = 1000

// killTree sends SIGKILL to a process and its children, and returns the children. The process is stopped first, so that
// it cannot have another child.
func killTree(pid int) []int {
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	for range stopChecks {
		if state, _ := processState(pid); state != "R" && state != "S" && state != "D" {
			break
		}
		time.Sleep(time.Millisecond) //nolint:forbidigo // no event tells that a process has stopped, unless it is a child that is waited for
	}
	children := childrenOf(pid)
	for _, p := range append([]int{pid}, children...) {
		_ = syscall.Kill(p, syscall.SIGKILL)
	}
	return children
}

// childrenOf needs /proc; without it, the children of a killed server end on their own.
func childrenOf(pid int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var children []int
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if _, parent := processState(child); parent == pid {
			children = append(children, child)
		}
	}
	return children
}

// gone says whether the processes have ended; a zombie counts as ended once its last thread has let go of what they listened on.
func gone(pids []int) bool {
	for _, pid := range pids {
		state, _ := processState(pid)
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if state != "" && state != "Z" && state != "X" || err == nil && len(threads) > 1 {
			return false
		}
	}
	return true
}

// processState returns "" for a process that does not exist.
func processState(pid int) (state string, parent int) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0
	}
	rest := string(stat)
	rest = rest[strings.LastIndexByte(rest, ')')+1:] // the name before it may hold anything
	if _, err := fmt.Sscan(rest, &state, &parent); err != nil {
		return "", 0
	}
	return state, parent
}
