package paste_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
)

// TestMemoryOfUnfinishedAnswers (promise 8): a thousand answers of 1 MB that do not end leave the gateway below 256 MiB of resident
// memory. The process is the real one: the race detector would take several times as much.
func TestMemoryOfUnfinishedAnswers(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]struct{ code, size int }{"kept": {200, 1_000_000}, "read, and too long": {500, 1_200_000}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unfinished(t, answer.code, answer.size)
		})
	}
}

func unfinished(t *testing.T, code, size int) {
	t.Helper()
	const answers, most = 1000, 256 << 10 // KiB
	var held sync.WaitGroup
	held.Add(answers)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(code)
		_, _ = w.Write(bytes.Repeat([]byte("x"), size))
		_ = http.NewResponseController(w).Flush()
		held.Done()
		<-r.Context().Done()
	}))
	t.Cleanup(upstream.Close)
	gateway := exec.CommandContext(t.Context(), filepath.Join(bin, "semel"), "gateway", "--upstream", upstream.URL, "--listen", "127.0.0.1:0", "--admin", "off", "--store", "memory:", "--log-format", "json")
	log, err := gateway.StderrPipe()
	must(t, err)
	must(t, gateway.Start())
	t.Cleanup(func() { _, _ = gateway.Process.Kill(), gateway.Wait() })
	lines, address := bufio.NewScanner(log), ""
	for address == "" && lines.Scan() {
		if found := regexp.MustCompile(`"listen":"http://([^"]+)"`).FindStringSubmatch(lines.Text()); found != nil {
			address = found[1]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, log) }()
	for i := range answers {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		must(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		_, err = fmt.Fprintf(conn, "POST /%d HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer a\r\nIdempotency-Key: \"%d\"\r\nContent-Length: 2\r\n\r\n{}", i, i)
		must(t, err)
		go func() { _, _ = io.Copy(io.Discard, conn) }()
	}
	held.Wait()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", gateway.Process.Pid))
	must(t, err)
	peak, err := strconv.Atoi(string(regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)[1]))
	must(t, err)
	t.Logf("%d answers: at most %d KiB", answers, peak)
	if peak > most {
		t.Errorf("%d unfinished answers took %d KiB of resident memory, want at most %d", answers, peak, most)
	}
}
