package semelhttp_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// heldReader gives a little, and the rest when it is released.
type heldReader struct {
	calls            int
	entered, release chan struct{}
}

func (r *heldReader) Read(p []byte) (int, error) {
	r.calls++
	switch r.calls {
	case 1:
		return copy(p, "first "), nil
	case 2:
		close(r.entered)
		<-r.release
		return copy(p, "alice's secret"), nil
	}
	return 0, io.EOF
}

// TestStrayWriter: what a goroutine writes that its handler left behind goes
// nowhere, least of all into the answer of a later request (promise 5).
func TestStrayWriter(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		write func(w http.ResponseWriter, from io.Reader) error
		fails bool // begun after the handler returned
	}{
		"in the middle of a copy": {write: func(w http.ResponseWriter, from io.Reader) error {
			_, err := io.Copy(w, from)
			return err
		}},
		"after the handler": {fails: true, write: func(w http.ResponseWriter, from io.Reader) error {
			text, err := io.ReadAll(from)
			if err != nil {
				return err
			}
			_, err = w.Write(text)
			return err
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t, doorOptions{scope: func(*http.Request) (string, error) { return "alice", nil }})
			from := &heldReader{entered: make(chan struct{}), release: make(chan struct{})}
			strayed := make(chan error)
			handler := d.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/stray" {
					_, _ = io.WriteString(w, "clean")
					return
				}
				go func() { strayed <- tt.write(w, from) }()
				<-from.entered
			}))
			send := func(path, key string) string {
				return handle(t, handler, path, "{}", "Idempotency-Key", key).Body.String()
			}
			send("/stray", "k0")
			close(from.release)
			if err := <-strayed; tt.fails && err == nil {
				t.Error("writing after the handler had returned succeeded")
			}
			for _, key := range []string{"k1", "k2", "k1"} {
				if got := send("/clean", key); got != "clean" {
					t.Errorf("%s: a later request got %q", key, got)
				}
			}
			if got := send("/stray", "k0"); strings.Contains(got, "secret") {
				t.Errorf("the replay holds what was written too late: %q", got)
			}
		})
	}
}
