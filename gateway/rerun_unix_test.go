//go:build unix

package gateway_test

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/semel-dev/semel/gateway"
)

// TestUnsentIsNotARerun: a request that the upstream never got is released, and its
// repetition is not noticed as a second execution.
func TestUnsentIsNotARerun(t *testing.T) {
	t.Parallel()
	address, listen := closedPort(t)
	var lines safeBuffer
	d := open(t, "http://"+address, func(c *gateway.Config) { c.Logger = slog.New(slog.NewTextHandler(&lines, nil)) })
	send := func() reply { return d.send(t, http.MethodPost, "/orders", "", "Idempotency-Key", "k") }
	check(t, "while nothing listens", send(), http.StatusBadGateway, "upstream-unreachable")
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	t.Cleanup(func() { _ = server.Close() })
	front := listen()
	go func() { _ = server.Serve(front) }() // ends by Close
	if got := send(); got.status != http.StatusOK || got.word() != "executed" {
		t.Errorf("repeated: got %d %v, want it executed", got.status, got.header)
	}
	if text := lines.String(); strings.Contains(text, "executed again") {
		t.Errorf("a request that was never sent counts as one that failed:\n%s", text)
	}
}

// closedPort returns an address that refuses connections until listen is called, and that no other program can take until then.
func closedPort(t *testing.T) (address string, listen func() net.Listener) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	must(err)
	syscall.CloseOnExec(fd)
	file := os.NewFile(uintptr(fd), "closed port")
	t.Cleanup(func() { _ = file.Close() })
	must(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	bound, err := syscall.Getsockname(fd)
	must(err)
	inet, _ := bound.(*syscall.SockaddrInet4)
	return fmt.Sprintf("127.0.0.1:%d", inet.Port), func() net.Listener {
		t.Helper()
		must(syscall.Listen(fd, syscall.SOMAXCONN))
		front, err := net.FileListener(file)
		must(err)
		return front
	}
}
