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
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/store/memstore"
)

const (
	fewFilesUpstream = "SEMEL_TEST_FEW_FILES_UPSTREAM"
	fewFiles         = 48
	streamFiles      = 400
)

// serveWithFewFiles is the child: a gateway that may open few files, until its standard input ends.
func serveWithFewFiles(t *testing.T, target string, files uint64, set func(*gateway.Config)) {
	t.Helper()
	var limit syscall.Rlimit
	noError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	limit.Cur = files
	noError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	config := &gateway.Config{Upstream: target, Store: memstore.New(nil), Guard: semel.Options{SweepEvery: -1}}
	set(config)
	g := must.Get(gateway.New(config))
	front := listen(t)
	_, _ = fmt.Fprintf(os.Stdout, "\nlistening %s\n", front.Addr())
	ctx, stop := signal.NotifyContext(t.Context(), syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = g.Close()
		os.Exit(0)
	}()
	noError(t, g.Serve(ctx, front, nil))
	os.Exit(drained)
}

// drained is the exit code of a child that came to its end in order.
const drained = 7

// startWithFewFiles runs the test of this name as the child.
func startWithFewFiles(t *testing.T, target string) (*door, *exec.Cmd) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), fewFilesUpstream+"="+target)
	stdin := must.Get(cmd.StdinPipe())
	stdout := must.Get(cmd.StdoutPipe())
	noError(t, cmd.Start())
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
	return &door{url: "http://" + address, client: newClient(t)}, cmd
}

// TestFewFilesStreams (promise 8, threats 15, 17 and 18): a gateway with 400 file descriptors and no settings of its own serves
// others next to 600 streams that were abandoned, and comes to its end although they are silent.
func TestFewFilesStreams(t *testing.T) {
	t.Parallel()
	if target := os.Getenv(fewFilesUpstream); target != "" {
		serveWithFewFiles(t, target, streamFiles, func(c *gateway.Config) { c.DrainTimeout = 10 * patience })
		return
	}
	target, _ := stalling(t)
	d, child := startWithFewFiles(t, target)
	for i := range 600 { // more than it may open files
		path := "/events"
		if i%10 == 0 {
			path = "/large"
		}
		if got := abandon(t, d, path, fmt.Sprint(i)); got != http.StatusOK {
			t.Fatalf("stream %d: got %d", i, got)
		}
		if i%50 == 0 {
			check(t, "beside them", d.send(t, http.MethodPost, "/", "", "Idempotency-Key", fmt.Sprint("k", i)), 201, "ok")
			check(t, "without a key", d.send(t, http.MethodPost, "/", ""), 201, "ok")
		}
	}
	noError(t, child.Process.Signal(syscall.SIGTERM))
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	_ = receive(t, ended)
	if code := child.ProcessState.ExitCode(); code != drained {
		t.Errorf("the gateway ended with %d, want %d", code, drained)
	}
}

// TestFewFiles (promises 3 and 8): a gateway that runs out of file descriptors says so, runs nothing twice, takes nothing that
// was not sent for unknown, and recovers.
func TestFewFiles(t *testing.T) {
	t.Parallel()
	if target := os.Getenv(fewFilesUpstream); target != "" {
		serveWithFewFiles(t, target, fewFiles, func(c *gateway.Config) {
			c.ReadHeaderTimeout, c.IdleTimeout, c.DrainTimeout = time.Hour, time.Hour, time.Millisecond
		})
		return
	}
	target, acted := countingWith(t, http.Header{"Connection": {"close"}}) // every request dials
	d, _ := startWithFewFiles(t, target)

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
