package gateway

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/store/memstore"
)

// Every field of the configuration has a setting on the console's page, or a reason to be on none.
func TestSettingsAreComplete(t *testing.T) {
	t.Parallel()
	for of, settings := range map[reflect.Type][]Setting{
		reflect.TypeFor[Config]():        (&Config{}).settings(),
		reflect.TypeFor[semel.Options](): guardSettings(&semel.Options{}),
	} {
		elsewhere := []string{
			"StoreName", "BusyAdvice", // the value of Store, and what follows from it
			"Guard",                                                                         // settings of its own
			"Next", "Around", "Operators", "Metrics", "Logger", "Trace", "Policy", "Reload", // functions, and what the routes show
		}
		shown := 0
		for field := range of.Fields() {
			if !slices.Contains(elsewhere, field.Name) {
				shown++
			}
		}
		if of == reflect.TypeFor[Config]() {
			shown += len(guardSettings(&semel.Options{}))
		}
		if len(settings) != shown {
			t.Errorf("%v has %d fields to show, and the page %d", of, shown, len(settings))
		}
	}
}

// Promise 10: no secret is on the page.
func TestSettingsHideSecrets(t *testing.T) {
	t.Parallel()
	const secret = "secret-0123456789abcdef0123456789"
	c := &Config{
		FormSecrets: [][]byte{[]byte(secret), []byte(secret)}, KeyFile: secret,
		Guard: semel.Options{Secrets: [][]byte{[]byte(secret)}, OutcomeKeys: []semel.OutcomeKey{{ID: "k1", Key: [32]byte([]byte(secret)[:32])}}},
	}
	all := fmt.Sprint(c.settings())
	if strings.Contains(all, secret[:16]) {
		t.Errorf("a secret is shown: %s", all)
	}
	for _, want := range []string{"{Secrets of forms 2 set}", "{Secrets of digests set}", "{Keys of recorded answers set}", "{Private key set}", "{TLS to the upstream not set}"} {
		if !strings.Contains(all, want) {
			t.Errorf("the settings do not say %s: %s", want, all)
		}
	}
}

// The page shows for how long the guard of a route remembers an unknown outcome, even if the rule leaves it out.
func TestShownUnknownRetention(t *testing.T) {
	t.Parallel()
	file := must.Get(rules.Parse("semel.yaml", []byte("version: 1\nroutes:\n  - {name: a, match: {path: /a}, preset: payments}\n  - {name: b, match: {path: /b}, retention: 1h}\n")))
	store := memstore.New(nil)
	g := must.Get(New(&Config{Upstream: "http://127.0.0.1:1", Store: store, Rules: file}))
	t.Cleanup(func() { _, _ = g.Close(), store.Close() })
	for i, want := range []time.Duration{72 * time.Hour, semel.DefaultRetention} {
		if got := g.shownRoutes()[i].Policy.UnknownRetention; got != want {
			t.Errorf("route %d: got %v, want %v", i, got, want)
		}
	}
}
