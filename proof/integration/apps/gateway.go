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

// Door is a way to an application: its own, or one through a gateway.
type Door struct{ Protected bool }

// BothDoors runs a test at each door, in parallel.
func BothDoors(t *testing.T, test func(t *testing.T, d Door)) {
	t.Helper()
	for name, d := range map[string]Door{"without Semel": {}, "with Semel": {Protected: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, d)
		})
	}
}

// At returns the address of the door to the application at this address (host:port): see [Protect].
func (d Door) At(tb testing.TB, address, rules string) string {
	tb.Helper()
	if d.Protected {
		return Protect(tb, address, rules)
	}
	return address
}

// Want returns the first number without Semel, and the second with it.
func (d Door) Want(without, with int) int {
	if d.Protected {
		return with
	}
	return without
}
