package flow_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/semelhttp"
)

// net/http sends a request with an Idempotency-Key again on its own when the connection that it reused is lost. The
// service here does not deduplicate: a step that sends through a Transport of one attempt ships once.
func TestTransportSendsAStepOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		transport func(base http.RoundTripper) http.RoundTripper
		shipments int32
	}{
		"net/http alone": {func(base http.RoundTripper) http.RoundTripper { return base }, 2},
		"through a Transport of one attempt": {func(base http.RoundTripper) http.RoundTripper {
			return &semelhttp.Transport{Base: base, MaxAttempts: 1}
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var shipments atomic.Int32
			var key atomic.Value
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					return
				}
				_, _ = io.Copy(io.Discard, r.Body)
				key.Store(r.Header.Get("Idempotency-Key"))
				if shipments.Add(1) == 1 {
					panic(http.ErrAbortHandler) // the answer is lost
				}
			}))
			t.Cleanup(server.Close)
			base := server.Client().Transport
			client := &http.Client{Transport: tt.transport(base)}
			res, err := client.Get(server.URL) //nolint:noctx // the connection that is used again
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			ship := flow.Define("ship", func(r *flow.Run, order string) (string, error) {
				return flow.Call(r, "ship", order, func(ctx context.Context, order string) (string, error) {
					req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(order))
					if err != nil {
						return "", err
					}
					req.Header.Set("Idempotency-Key", flow.KeyFrom(ctx))
					res, err := client.Do(req)
					if err != nil {
						return "", err
					}
					return "shipped", res.Body.Close()
				}, flow.Ask(func(ctx context.Context) (string, semel.Verdict, error) {
					if got := key.Load(); got != flow.KeyFrom(ctx) {
						t.Errorf("the service saw the key %v, want %s", got, flow.KeyFrom(ctx))
					}
					return "shipped", semel.Happened, nil
				}))
			})
			f := newFlows(t, remembering(t, semel.Policy{}), nil, ship)
			for range 2 {
				if got, err := flow.Start(t.Context(), f, ship, adasKey, "order"); err == nil && got != "shipped" {
					t.Errorf("got %q, %v", got, err)
				}
			}
			if n := shipments.Load(); n != tt.shipments {
				t.Errorf("%d shipments, want %d", n, tt.shipments)
			}
		})
	}
}
