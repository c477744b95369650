package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/semel-dev/semel/examples/internal/program"
)

func TestRunServesUntilToldToStop(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{"--listen", "127.0.0.1:0", "--db", filepath.Join(t.TempDir(), "m.db")}, write, io.Discard)
		write.Close()
	}()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatalf("no first line: %v (run: %v)", err, <-done)
	}
	home := regexp.MustCompile(`http://\S+`).FindString(line)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, home+"/api/mathematicians", http.NoBody)
	reply, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	page, _ := io.ReadAll(reply.Body)
	reply.Body.Close()
	if !strings.Contains(string(page), `"mathematicians":[]`) {
		t.Errorf("got %s, want an empty list", page)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("stopped with %v, want nil", err)
	}
}

func TestRunSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "m.db")
	for _, tt := range []struct {
		name  string
		args  []string
		usage bool
		want  string
	}{
		{"flag", []string{"--colour", "red"}, true, "-colour"},
		{"argument", []string{"serve"}, true, `"serve"`},
		{"address", []string{"--db", db, "--listen", "127.0.0.1:99999"}, false, "-listen"},
		{"file", []string{"--db", t.TempDir()}, false, "SQLite file"},
	} {
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
