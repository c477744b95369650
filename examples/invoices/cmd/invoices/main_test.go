package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/semel-dev/semel/examples/internal/program"
)

func TestRunServesUntilToldToStop(t *testing.T) {
	t.Parallel()
	for _, kind := range [][]string{nil, {"-protected", "-ready-file", filepath.Join(t.TempDir(), "ready")}} {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			t.Parallel()
			serveOnce(t, kind)
		})
	}
}

func serveOnce(t *testing.T, kind []string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, append(kind, "-listen", "127.0.0.1:0", "-latency", "0", "-banner", "Hello"), write, io.Discard)
		write.Close()
	}()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatalf("no first line: %v (run: %v)", err, <-done)
	}
	home := regexp.MustCompile(`http://\S+`).FindString(line)

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, home, http.NoBody)
	reply, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	page, _ := io.ReadAll(reply.Body)
	reply.Body.Close()
	if !strings.Contains(string(page), "Hello") {
		t.Errorf("no banner on the first page:\n%s", page)
	}
	if kind != nil {
		ready, err := os.ReadFile(kind[len(kind)-1])
		if err != nil || string(ready) != "page="+home+"\n" {
			t.Errorf("the ready file says %q, %v", ready, err)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("stopped with %v, want nil", err)
	}
}

func TestRunSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		args  []string
		usage bool
		want  string
	}{
		{"flag", []string{"-colour", "red"}, true, "-colour"},
		{"duration", []string{"-latency", "long"}, true, "latency"},
		{"argument", []string{"serve"}, true, `"serve"`},
		{"address", []string{"-listen", "127.0.0.1:99999"}, false, "-listen"},
		{"file", []string{"-db", t.TempDir()}, false, "SQLite file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var stderr strings.Builder
			err := run(t.Context(), tt.args, io.Discard, &stderr)
			if err == nil || errors.Is(err, program.ErrUsage) != tt.usage {
				t.Fatalf("got %v, want an error (usage: %t)", err, tt.usage)
			}
			if told := stderr.String() + err.Error(); !strings.Contains(told, tt.want) {
				t.Errorf("%q does not mention %q", told, tt.want)
			}
		})
	}
}
