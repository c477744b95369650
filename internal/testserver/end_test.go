package testserver_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/semel-dev/semel/internal/testserver"
)

// Servers do not outlive a test process that is killed, nor does what they kept.
func TestServersEndWithTheProcess(t *testing.T) {
	t.Parallel()
	tmp, err := os.MkdirTemp("/tmp", "semel-end-") //nolint:usetesting // t.TempDir is closed to the users of servers.
	noError(t, err)
	t.Cleanup(func() {
		if err := os.Remove(tmp); err != nil { // it is empty
			t.Error(err)
		}
	})
	noError(t, os.Chmod(tmp, 0o755))
	cmd, addrs := startChild(t, "TMPDIR="+tmp)
	for _, addr := range addrs {
		if !listens(t, addr) {
			t.Errorf("no process listens on %s", addr)
		}
	}
	noError(t, cmd.Process.Kill())
	if err := cmd.Wait(); err == nil {
		t.Error("the child ended on its own")
	}
	for _, addr := range addrs {
		testserver.Eventually(t, addr+" is free", func() bool { return !listens(t, addr) })
	}
	testserver.Eventually(t, "the folder of the servers is removed", func() bool {
		left, err := filepath.Glob(filepath.Join(tmp, "*"))
		return err == nil && len(left) == 0
	})
}

func listens(t *testing.T, addr string) bool {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		return false
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	return true
}
