package pgstore_test

import (
	"flag"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
)

// childEnv names what this binary does instead of running tests, when a test
// starts it as another process.
const childEnv = "SEMEL_PGSTORE_CHILD"

func TestMain(m *testing.M) {
	if verb := os.Getenv(childEnv); verb != "" {
		os.Exit(child(verb, os.Args[1:]))
	}
	// Tests wait for the server rather than for a processor, and each of their
	// verbs costs a commit; -parallel and -rapid.checks override this.
	for name, value := range map[string]string{"test.parallel": "4", "rapid.checks": "15"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

func child(verb string, args []string) int {
	switch verb {
	case "cycle":
		return childCycle(args[0], args[1], args[2])
	case "race":
		return childRace(args[0], args[1], args[2])
	case "order":
		return childOrder(args[0], args[1], args[2], args[3])
	case "same":
		return childSame(args[0], args[1])
	}
	return 2
}

// childCommand is this binary as another process.
func childCommand(tb testing.TB, verb string, args ...string) *exec.Cmd {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), self, args...)
	cmd.Env = append(os.Environ(), childEnv+"="+verb, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	return cmd
}
