package semelenvoy_test

import (
	"net/http"
	"testing"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/rules"
)

// TestChoice: routes of one path are found by the body, which Envoy then forwards as it came.
func TestChoice(t *testing.T) {
	t.Parallel()
	file := must.Get(rules.Parse("rules.yaml", []byte(`version: 1
routes:
  - {name: reads, match: {path: /graphql, json: {/operationName: Orders}}, protect: false}
  - {name: rest, match: {path: /graphql}}
`)))
	e := start(t, func(c *gateway.Config) { c.Rules = file })
	for operation, words := range map[string][]string{"Orders": {"", ""}, "Create": {"executed", "replayed"}} {
		for _, word := range words {
			got := e.do(request{method: http.MethodPost, path: "/graphql", key: operation, body: `{"operationName":"` + operation + `"}`, header: http.Header{"Content-Type": {"application/json"}}})
			if got.status != http.StatusCreated || got.word() != word {
				t.Errorf("%s: got %d %q %q, want %q", operation, got.status, got.word(), got.body, word)
			}
		}
	}
	e.want(3)
}
