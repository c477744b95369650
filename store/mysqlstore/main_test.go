package mysqlstore_test

import (
	"flag"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
)

// childEnv names what this binary does instead of running tests, when a test
// starts it as another process.
const childEnv = "SEMEL_MYSQLSTORE_CHILD"

// sequences counts the random ones of each variant.
const sequences = "10"

func TestMain(m *testing.M) {
	if verb := os.Getenv(childEnv); verb != "" {
		os.Exit(child(verb, os.Args[1:]))
	}
	// The rule about sequences of verbs runs in several variants here, over a
	// real server; -rapid.checks asks for more.
	if err := flag.Set("rapid.checks", sequences); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

func child(verb string, args []string) int {
	switch verb {
	case "cycle":
		return childCycle(args[0], args[1])
	case "race":
		return childRace(args[0])
	case "tx":
		return childTx(args[0], args[1], args[2])
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
