package testserver_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// needyEnv makes TestNeedy need a program that does not exist.
const needyEnv = "SEMEL_TESTSERVER_NEEDY"

func TestNeedy(t *testing.T) {
	t.Parallel()
	if os.Getenv(needyEnv) != "" {
		testserver.Require(t, &dbserver.MissingError{What: "a unicorn", Hint: "find one"})
	}
}

// Something that is not installed fails a test, unless that was allowed: then it is skipped and listed.
func TestMissing(t *testing.T) {
	t.Parallel()
	const allow, require = testserver.EnvAllowMissing + "=1", testserver.EnvRequireStores + "=1"
	for _, c := range []struct {
		name   string
		env    []string
		wants  string
		log    string
		failed bool
	}{
		{name: "neither", wants: "a unicorn is missing (find one); or set SEMEL_TEST_ALLOW_MISSING=1", failed: true},
		{name: "allowed", env: []string{allow}, wants: "--- SKIP: TestNeedy", log: "/internal/testserver\n"},
		{name: "required", env: []string{allow, require}, wants: "a unicorn is missing", failed: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			noError(t, err)
			log := filepath.Join(t.TempDir(), "log")
			cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestNeedy$", "-test.v")
			none := []string{testserver.EnvAllowMissing + "=", testserver.EnvRequireStores + "="}
			cmd.Env = append(os.Environ(), needyEnv+"=1", testserver.EnvSkipLog+"="+log)
			cmd.Env = append(append(cmd.Env, none...), c.env...)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if failed := errors.As(err, &exit); failed != c.failed || !strings.Contains(string(out), c.wants) {
				t.Errorf("got %v and\n%s\nwant %q in it", err, out, c.wants)
			}
			logged, err := os.ReadFile(log)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if !strings.HasSuffix(string(logged), c.log) || (c.log == "") != (len(logged) == 0) {
				t.Errorf("got the log %q, want %q at its end", logged, c.log)
			}
		})
	}
}
