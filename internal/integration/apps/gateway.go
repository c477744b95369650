package apps

import (
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/store/sqlitestore"
)

// Protect puts a gateway in front of the application at this address
// (host:port) until the end of the test, and returns the gateway's address.
// Its store is a SQLite file of its own. With an empty name of a rules file it
// has no rules.
func Protect(tb testing.TB, address, file string) string {
	tb.Helper()
	store, err := sqlitestore.Open(tb.Context(), filepath.Join(tb.TempDir(), "semel.db"), nil)
	if err != nil {
		tb.Fatal(err)
	}
	config := &gateway.Config{Upstream: "http://" + address, Store: store}
	if file != "" {
		if config.Rules, err = rules.Load(file); err != nil {
			tb.Fatal(err)
		}
	}
	g, err := gateway.New(config)
	if err != nil {
		tb.Fatal(err)
	}
	server := httptest.NewServer(g.Handler())
	tb.Cleanup(func() {
		server.CloseClientConnections() // including streams
		server.Close()
		if err := g.Close(); err != nil {
			tb.Error(err)
		}
		if err := store.Close(); err != nil {
			tb.Error(err)
		}
	})
	u, err := url.Parse(server.URL)
	if err != nil {
		tb.Fatal(err)
	}
	return u.Host
}
