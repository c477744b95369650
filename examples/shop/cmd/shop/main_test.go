package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/examples/internal/program"
)

func TestRunServesUntilToldToStop(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ready := filepath.Join(t.TempDir(), "ready")
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{"-listen", "127.0.0.1:0", "-ready-file", ready}, io.Discard, io.Discard)
	}()
	home := awaitReady(t, ready, done)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, home, http.NoBody)
	reply, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		t.Errorf("first page: got %d, want 200", reply.StatusCode)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("stopped with %v, want nil", err)
	}
}

// awaitReady returns the address in the ready file.
func awaitReady(t *testing.T, file string, done <-chan error) string {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			t.Fatalf("ended before it was ready: %v", err)
		case <-t.Context().Done():
			t.Fatal("not ready in time")
		case <-tick.C:
		}
		if text, err := os.ReadFile(file); err == nil {
			return strings.TrimSpace(strings.TrimPrefix(string(text), "page="))
		}
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
		{"argument", []string{"serve"}, true, `"serve"`},
		{"address", []string{"-listen", "127.0.0.1:99999"}, false, "-listen"},
		{"directory", []string{"-dir", filepath.Join(t.TempDir(), "absent")}, false, "-dir"},
		{"ready file", []string{"-listen", "127.0.0.1:0", "-ready-file", filepath.Join(t.TempDir(), "absent", "ready")}, false, "ready file"},
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
