//go:build unix

package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/store/memstore"
)

const (
	fewFilesUpstream = "SEMEL_TEST_FEW_FILES_UPSTREAM"
	fewFiles         = 48
)

// serveWithFewFiles is the child: a gateway that may open few files, until its
// standard input ends.
func serveWithFewFiles(t *testing.T, target string) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = fewFiles
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(&gateway.Config{
		Upstream: target, Store: memstore.New(nil), Guard: semel.Options{SweepEvery: -1},
		UpstreamIdleTimeout: time.Millisecond, // every request dials
		ReadHeaderTimeout:   time.Hour, IdleTimeout: time.Hour, DrainTimeout: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	front := listen(t)
	_, _ = fmt.Fprintf(os.Stdout, "\nlistening %s\n", front.Addr())
	go func() { _ = g.Serve(t.Context(), front, nil) }()
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = g.Close()
	os.Exit(0)
}

// TestFewFiles (promises 3 and 8): a gateway that runs out of file descriptors
// says so, runs nothing twice, takes nothing that was not sent for unknown, and
// recovers.
func TestFewFiles(t *testing.T) {
	t.Parallel()
	if target := os.Getenv(fewFilesUpstream); target != "" {
		serveWithFewFiles(t, target)
		return
	}
	target, acted := counting(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFewFiles$")
	cmd.Env = append(os.Environ(), fewFilesUpstream+"="+target)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	address := ""
	for lines := bufio.NewScanner(stdout); address == "" && lines.Scan(); {
		address, _ = strings.CutPrefix(lines.Text(), "listening ")
		if !strings.Contains(address, ":") {
			address = ""
		}
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	d := &door{url: "http://" + address, client: newClient(t)}

	done := map[string]string{} // key to answer
	post := func(d *door, key, body string) (retry bool) {
		t.Helper()
		got := d.send(t, http.MethodPost, "/", body, "Idempotency-Key", key)
		switch {
		case got.status == http.StatusCreated:
			if was, ok := done[key]; ok && was != got.body {
				t.Errorf("promise 3: %s was answered %q, then %q", key, was, got.body)
			}
			done[key] = got.body
		case got.status == http.StatusServiceUnavailable && got.header.Get("Retry-After") != "" &&
			(got.problem() == "overloaded" || body != "" && got.problem() == "store-unavailable"):
			return true
		default:
			t.Fatalf("%s: got %d %s %v", key, got.status, got.body, got.err)
		}
		return false
	}
	end := time.Now().Add(patience)
	until := func(what string, ok func(i int) bool) {
		t.Helper()
		for i := 0; !ok(i); i++ {
			if time.Now().After(end) {
				t.Fatalf("%s: it does not come to that", what)
			}
		}
	}
	if post(d, "before", "") {
		t.Fatal("refused before it began")
	}
	var idle []net.Conn
	for range 2 * fewFiles {
		idle = append(idle, dial(t, d))
	}
	var refused string
	until("exhausted", func(i int) bool { refused = fmt.Sprint("during-", i); return post(d, refused, "") })
	large := strings.Repeat("x", 300<<10) // waits in a file
	until("no file for a large body", func(i int) bool { return post(d, fmt.Sprint("large-", i), large) })
	for _, conn := range idle {
		_ = conn.Close()
	}
	until("recovered", func(int) bool { return !post(d, refused, "") })
	until("takes new connections", func(int) bool { return !post(&door{url: d.url, client: newClient(t)}, "after", "") })
	for key := range done {
		if !strings.HasPrefix(key, "large-") && post(d, key, "") {
			t.Errorf("%s: refused after it had recovered", key)
		}
	}
	if got := int(acted.Load()); got != len(done) {
		t.Errorf("promise 3: the upstream acted %d times for %d intents", got, len(done))
	}
}
