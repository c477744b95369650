//go:build unix

package gateway_test

import (
	"os"
	"syscall"
	"testing"
)

// TestCertificateThatIsAPipe: reading a pipe would not end, and the gateway would never look again.
func TestCertificateThatIsAPipe(t *testing.T) {
	t.Parallel()
	r := openRenewal(t)
	noError(t, os.Remove(r.file("server.key")))
	noError(t, syscall.Mkfifo(r.file("server.key"), 0o600))
	r.look()
	r.wantServed(t, "a pipe", true)
	noError(t, os.Remove(r.file("server.key")))
	r.served = certificate(t, r.dir, "server")
	r.look()
	r.wantServed(t, "a file again", false)
}
