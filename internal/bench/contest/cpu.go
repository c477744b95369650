package contest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// CPUTime returns how long the threads of a process and its children have run on
// Linux; 0 for a process that has ended, and on other systems.
func CPUTime(pid int) time.Duration {
	var sum time.Duration
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid)) // the pattern is well-formed
	for _, task := range tasks {
		if text, err := os.ReadFile(filepath.Join(task, "schedstat")); err == nil { //nolint:gosec // of the kernel.
			nanos, _, _ := strings.Cut(string(text), " ")
			ran, _ := time.ParseDuration(nanos + "ns") // 0 if it is something else
			sum += ran
		}
		children, _ := os.ReadFile(filepath.Join(task, "children")) //nolint:gosec // of the kernel; none if it does not tell.
		for child := range strings.FieldsSeq(string(children)) {
			var pid int
			if _, err := fmt.Sscan(child, &pid); err == nil {
				sum += CPUTime(pid)
			}
		}
	}
	return sum
}
