package proxies_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/store/memstore"
)

// newGateway opens a gateway before the upstream, on the store.
func newGateway(t *testing.T, upstream string, store semel.Store) *gateway.Gateway {
	t.Helper()
	g, err := gateway.New(&gateway.Config{
		Upstream: upstream, Store: store, Guard: semel.Options{SweepEvery: -1}, UpstreamTLS: trusting(t),
	})
	must(t, err)
	t.Cleanup(func() { must(t, g.Close()) })
	return g
}

// gateways serves two gateways on one store before the application at an address (host:port), whose answers get lost once, after
// the work is recorded. It returns their addresses.
func gateways(t *testing.T, application string, secure *tls.Config) []string {
	t.Helper()
	store := newStore(t)
	var addresses []string
	var lost sync.Map // of paths
	for range 2 {
		handler := newGateway(t, "http://"+application, store).Handler()
		addresses = append(addresses, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, before := lost.LoadOrStore(r.URL.Path, true); before || !losesAnswer(r) {
				handler.ServeHTTP(w, r)
				return
			}
			handler.ServeHTTP(httptest.NewRecorder(), r)
			hangUp(r)
		}), secure))
	}
	return addresses
}

func newStore(t *testing.T) semel.Store {
	t.Helper()
	store := memstore.New(nil)
	t.Cleanup(func() { must(t, store.Close()) })
	return store
}
