package gateway

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/store/memstore"
)

// TestChoiceCostsOthersNothing: conditions on one path cost requests to others no memory.
func TestChoiceCostsOthersNothing(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts the whole process
	cost := func(text string) (found, chosen float64) {
		store := memstore.New(nil)
		g := must.Get(New(&Config{Upstream: "http://127.0.0.1", Store: store, Rules: must.Get(rules.Parse("rules.yaml", []byte(text)))}))
		t.Cleanup(func() { _, _ = g.Close(), store.Close() })
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/orders?do=save", http.NoBody)
		quiet := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
		g.router.group(r).routes[0].handler = quiet
		w := httptest.NewRecorder()
		found = testing.AllocsPerRun(100, func() { g.route(w, r, g.router.group(r).routes[0]) })
		return found, testing.AllocsPerRun(100, func() { g.choose(w, r, g.router.group(r)) })
	}
	const others = "version: 1\nroutes:\n  - {name: orders, match: {path: /orders}}\n"
	least, without := cost(others)
	_, with := cost(others + `  - {name: save, match: {path: /wiki, query: {do: save}, form: {a: "1"}}}` + "\n")
	if with != least || without != least {
		t.Errorf("got %.0f allocations next to conditions, %.0f without, want %.0f", with, without, least)
	}
}
