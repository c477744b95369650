package gateway_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/store/memstore"
)

// An error of Next is released only if nothing can have been sent, whatever Next believes (promise 3).
func TestNextFails(t *testing.T) {
	t.Parallel()
	application := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(application.Close)
	errDown := errors.New("down")
	ask := func(r *http.Request) error {
		req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, application.URL, http.NoBody)
		if err != nil {
			return err
		}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			return err
		}
		return errors.Join(errDown, res.Body.Close())
	}
	for name, c := range map[string]struct {
		next  func(w http.ResponseWriter, r *http.Request) error
		again int // the status of the repetition
	}{
		"released":  {func(http.ResponseWriter, *http.Request) error { return semel.MarkReleased(errDown) }, http.StatusCreated},
		"plain":     {func(http.ResponseWriter, *http.Request) error { return errDown }, http.StatusConflict},
		"connected": {func(_ http.ResponseWriter, r *http.Request) error { return semel.MarkReleased(ask(r)) }, http.StatusConflict},
		"begun": {func(w http.ResponseWriter, _ *http.Request) error {
			_, err := io.WriteString(w, "half")
			return errors.Join(err, semel.MarkReleased(errDown))
		}, http.StatusConflict},
		"panic": {func(http.ResponseWriter, *http.Request) error { panic(http.ErrAbortHandler) }, http.StatusConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs := 0
			g, err := gateway.New(&gateway.Config{Store: memstore.New(nil), Next: func(w http.ResponseWriter, r *http.Request) error {
				if runs++; runs == 1 {
					return c.next(w, r)
				}
				w.WriteHeader(http.StatusCreated)
				return nil
			}})
			claimtest.NoError(t, err)
			t.Cleanup(func() { _ = g.Close() })
			front := httptest.NewServer(g.Handler())
			t.Cleanup(front.Close)
			post := func() (int, error) {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL, strings.NewReader("a"))
				claimtest.NoError(t, err)
				req.Header.Set("Idempotency-Key", "k")
				res, err := front.Client().Do(req)
				if err != nil {
					return 0, err
				}
				return res.StatusCode, res.Body.Close()
			}
			if status, err := post(); err == nil && status != http.StatusBadGateway {
				t.Errorf("the first request got %d", status)
			}
			if status, err := post(); status != c.again || err != nil {
				t.Errorf("the repetition got %d %v, want %d", status, err, c.again)
			}
		})
	}
}

// Only rules that ask the application need its address.
func TestNextNeedsNoUpstream(t *testing.T) {
	t.Parallel()
	next := func(http.ResponseWriter, *http.Request) error { return nil }
	for rule, want := range map[string]string{
		"form: true": "", "authorize: {get: /me}": `gateway: route "orders" asks the application (authorize, reconcile): name it as the upstream`,
	} {
		file, err := rules.Parse("rules.yaml", []byte("version: 1\nroutes:\n  - name: orders\n    match: {methods: [POST], path: /orders}\n    "+rule+"\n"))
		claimtest.NoError(t, err)
		g, err := gateway.New(&gateway.Config{Store: memstore.New(nil), Next: next, Rules: file})
		if err == nil {
			err = g.Close()
		}
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: got %v, want %q", rule, err, want)
		}
	}
}
