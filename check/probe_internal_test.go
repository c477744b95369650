package check

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel/check/wire"
)

// TestBudgetIsEnforced: the announced number is a limit. No check of the catalogue exceeds it, so this one is made to:
// alone, and together with others.
func TestBudgetIsEnforced(t *testing.T) {
	t.Parallel()
	for name, budget := range map[string]struct{ check, run, sent int }{
		"of the check": {check: 2, run: 10, sent: 2},
		"of the run":   {check: 10, run: 3, sent: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var came atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { came.Add(1) }))
			t.Cleanup(server.Close)
			profile, _ := ProfileNamed("ietf")
			config := Config{Template: Template{Method: http.MethodPost, URL: server.URL + "/"}, Profile: profile}
			if err := config.complete(); err != nil {
				t.Fatal(err)
			}
			s := newTestRun(&config)
			s.allowed = budget.run
			greedy := &probe{run: s, check: &Check{ID: "GREEDY-01"}, allowed: budget.check}
			in, err := greedy.intent(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i := range budget.sent + 2 {
				got := greedy.send(t.Context(), "one too many", in)
				if over := i >= budget.sent; over != errors.Is(got.err, errBudget) {
					t.Errorf("request %d got %s", i+1, got)
				}
			}
			greedy.sendIn(t.Context(), "in another manner", wire.Manner{Chunked: true}, in)
			greedy.volley(t.Context(), "all at once", in, in)
			if got := int(came.Load()); got != budget.sent {
				t.Errorf("%d requests arrived, want %d", got, budget.sent)
			}
		})
	}
}
