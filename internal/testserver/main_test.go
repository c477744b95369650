package testserver_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// childEnv makes this binary start servers, print their addresses, and wait for its end.
const childEnv = "SEMEL_TESTSERVER_CHILD"

const missingPrefix = "missing: "

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		err := child()
		if missing := new(dbserver.MissingError); errors.As(err, &missing) {
			fmt.Fprintln(os.Stdout, missingPrefix+missing.What)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// The client closes the connections of a node that left the cluster five seconds later, whatever Close does.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"))
}

func child() (err error) {
	ctx := context.Background()
	home, err := dbserver.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, home.Close()) }()
	postgres, err := home.Postgres(ctx, nil)
	if err != nil {
		return err
	}
	mysql, err := home.MySQL(ctx, nil)
	if err != nil {
		return err
	}
	redis, err := home.Redis(ctx, nil)
	if err != nil {
		return err
	}
	for _, s := range []interface{ Addr() string }{postgres, mysql, redis} {
		fmt.Fprintln(os.Stdout, s.Addr())
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// startChild returns the child and the addresses of its servers.
func startChild(t *testing.T, env ...string) (*exec.Cmd, []string) {
	t.Helper()
	self, err := os.Executable()
	noError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(append(os.Environ(), childEnv+"=1"), env...)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	noError(t, err)
	noError(t, cmd.Start())
	var addrs []string
	for lines := bufio.NewScanner(out); len(addrs) < 3 && lines.Scan(); {
		if what, found := strings.CutPrefix(lines.Text(), missingPrefix); found {
			if err := cmd.Wait(); err == nil {
				t.Error("a child without servers ended well")
			}
			testserver.Require(t, &dbserver.MissingError{What: what, Hint: "see above"})
		}
		addrs = append(addrs, lines.Text())
	}
	if len(addrs) != 3 {
		t.Fatalf("the child started %v, want three servers", addrs)
	}
	return cmd, addrs
}

// noError ends the test with the error.
func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
