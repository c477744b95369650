package gateway_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/store/memstore"
)

// An error of Next is released only if nothing can have been sent, whatever Next believes (promise 3).
func TestNextFails(t *testing.T) {
	t.Parallel()
	application := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(application.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	errDown := errors.New("down")
	ask := func(r *http.Request, url string) error {
		req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, url, http.NoBody)
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
		"released":    {func(http.ResponseWriter, *http.Request) error { return semel.MarkReleased(errDown) }, http.StatusCreated},
		"plain":       {func(http.ResponseWriter, *http.Request) error { return errDown }, http.StatusConflict},
		"unreachable": {func(_ http.ResponseWriter, r *http.Request) error { return semel.MarkReleased(ask(r, gone.URL)) }, http.StatusCreated},
		"connected": {func(_ http.ResponseWriter, r *http.Request) error {
			return semel.MarkReleased(ask(r, application.URL))
		}, http.StatusConflict},
		"then unreachable": {func(_ http.ResponseWriter, r *http.Request) error {
			_ = ask(r, application.URL) // a proxy that tries another address
			return semel.MarkReleased(ask(r, gone.URL))
		}, http.StatusConflict},
		"out of time": {func(_ http.ResponseWriter, r *http.Request) error {
			<-r.Context().Done()
			return nil // as of a caller that has gone
		}, http.StatusConflict},
		"flushed": {func(w http.ResponseWriter, _ *http.Request) error {
			return errors.Join(http.NewResponseController(w).Flush(), semel.MarkReleased(errDown))
		}, http.StatusConflict},
		"begun": {func(w http.ResponseWriter, _ *http.Request) error {
			_, err := io.WriteString(w, "half")
			return errors.Join(err, semel.MarkReleased(errDown))
		}, http.StatusConflict},
		"panic": {func(w http.ResponseWriter, _ *http.Request) error {
			w.WriteHeader(http.StatusGone)
			panic(http.ErrAbortHandler)
		}, http.StatusConflict}, // the rule releases for 410
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs := 0
			config := &gateway.Config{Store: memstore.New(nil), Next: func(w http.ResponseWriter, r *http.Request) error {
				if runs++; runs == 1 {
					return c.next(w, r)
				}
				w.WriteHeader(http.StatusCreated)
				return nil
			}}
			config.Rules = must.Get(rules.Parse("rules.yaml", []byte(`{version: 1, routes: [{name: all, match: {path: "/{rest...}"}, released_when: {status: [410]}}]}`)))
			if name == "out of time" {
				config.Guard.Policy.MaxRun = time.Second
			}
			g := must.Get(gateway.New(config))
			t.Cleanup(func() { _ = g.Close() })
			front := httptest.NewServer(g.Handler())
			t.Cleanup(front.Close)
			post := func() (int, error) {
				req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL, strings.NewReader("a")))
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

// A proxy that could not connect tries another address with the same body, although its transport has closed it.
func TestNextBody(t *testing.T) {
	t.Parallel()
	var bodies [2]string
	g, err := gateway.New(&gateway.Config{Store: memstore.New(nil), Next: func(_ http.ResponseWriter, r *http.Request) error {
		for i := range bodies {
			if err := r.Body.Close(); err != nil {
				return err
			}
			body, _ := io.ReadAll(r.Body) // what was read and closed stays closed
			bodies[i] = string(body)
		}
		return nil
	}})
	claimtest.NoError(t, err)
	t.Cleanup(func() { _ = g.Close() })
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("a"))
	req.Header.Set("Idempotency-Key", "k")
	g.Handler().ServeHTTP(httptest.NewRecorder(), req)
	if bodies != [2]string{"a", ""} {
		t.Errorf("the application got %q", bodies)
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
