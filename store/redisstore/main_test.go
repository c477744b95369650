package redisstore_test

import (
	"flag"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
)

// childEnv names what this binary does instead of running tests, when a test
// starts it as another process.
const childEnv = "SEMEL_REDISSTORE_CHILD"

func TestMain(m *testing.M) {
	if verb := os.Getenv(childEnv); verb != "" {
		os.Exit(child(verb, os.Args[1:]))
	}
	// Tests wait for the server rather than for a processor; -parallel overrides this.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m,
		// The client of a cluster lets the connections that it has replaced
		// drain for five seconds, and asks for the slots again after one.
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func2"))
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

func child(verb string, args []string) int {
	if verb == "race" {
		return childRace(args)
	}
	return 2
}
