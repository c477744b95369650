// Package programtest holds the tests that the commands of the examples share.
package programtest

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/semel-dev/semel/examples/internal/program"
)

// Run is the function of a command that [program.Main] runs.
type Run = func(ctx context.Context, args []string, stdout, stderr io.Writer) error

// Serves starts a server with these arguments, checks that want is in what it answers at path, stops it, and returns
// the address that it printed.
func Serves(t *testing.T, run Run, path, want string, args ...string) (home string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, append(args, "-listen", "127.0.0.1:0"), write, io.Discard)
		_ = write.Close() // never fails
	}()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatalf("no first line: %v (run: %v)", err, <-done)
	}
	home = regexp.MustCompile(`http://\S+`).FindString(line)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, home+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(reply.Body)
	if err = errors.Join(err, reply.Body.Close()); err != nil || reply.StatusCode != http.StatusOK || !strings.Contains(string(page), want) {
		t.Errorf("got %d, %v and\n%s\nwant %q in it", reply.StatusCode, err, page, want)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("stopped with %v, want nil", err)
	}
	return home
}

// Refusal is a wrong call of a command: Want is in what it prints, or in its error.
type Refusal struct {
	Name  string
	Args  []string
	Usage bool
	Want  string
}

// Refuses checks these calls, and those that every server refuses.
func Refuses(t *testing.T, run Run, more ...Refusal) {
	t.Helper()
	for _, tt := range append(more, Refusal{"flag", []string{"-colour", "red"}, true, "-colour"}, Refusal{"argument", []string{"serve"}, true, `"serve"`}) {
		t.Run(tt.Name, func(t *testing.T) {
			t.Parallel()
			var stderr strings.Builder
			err := run(t.Context(), tt.Args, io.Discard, &stderr)
			if err == nil || errors.Is(err, program.ErrUsage) != tt.Usage {
				t.Fatalf("got %v, want an error (usage: %t)", err, tt.Usage)
			}
			if said := stderr.String() + err.Error(); !strings.Contains(said, tt.Want) {
				t.Errorf("%q does not mention %q", said, tt.Want)
			}
		})
	}
}
