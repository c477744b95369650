package flow_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

var errRolledBack = errors.New("what is around the flow fails")

// transactions are the doors through which an application gets a context with a transaction. Each rolls it back.
func (s *till) transactions(t *testing.T) map[string]func(inside func(context.Context)) {
	t.Helper()
	web, err := semelhttp.New(s.guard, semelhttp.ScopeBy(func(*http.Request) string { return "ada" }), &semelhttp.Options{Transactor: s.transactor})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := inbox.New(s.guard, &inbox.Options{Consumer: "shop", Redelivery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]func(func(context.Context)){
		"DoTx": func(inside func(context.Context)) {
			_, _ = semel.DoTx(t.Context(), s.guard, s.transactor, semel.Key{Scope: "ada", Name: "outer"}, semel.Fingerprint{}, func(ctx context.Context) (int, error) {
				inside(ctx)
				return 0, errRolledBack
			})
		},
		"semelhttp": func(inside func(context.Context)) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
			r.Header.Set("Idempotency-Key", "outer")
			web.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				inside(r.Context())
				w.WriteHeader(http.StatusInternalServerError)
			})).ServeHTTP(httptest.NewRecorder(), r)
		},
		"HandleTx": func(inside func(context.Context)) {
			messages.HandleTx(t.Context(), s.transactor, inbox.Message{ID: "outer", Deliveries: 1}, func(ctx context.Context, _ inbox.Message) error {
				inside(ctx)
				return errRolledBack
			})
		},
		"the last step of a flow": func(inside func(context.Context)) {
			s.last = func(ctx context.Context) error {
				inside(ctx)
				return errRolledBack
			}
			_, _ = flow.Start(t.Context(), s.flows, s.def, semel.Key{Scope: "ada", Name: "outer"}, 1)
			s.last = func(context.Context) error { return nil }
		},
	}
}

// Promises 3 and 4: a flow whose steps could be rolled back with the transaction around it would replay an answer
// that never happened.
func TestFlowInATransactionIsRefused(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, l ledger) {
		t.Helper()
		s := openTill(t, l, nil)
		elsewhere, err := semel.New(memstore.New(nil), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = elsewhere.Close() })
		background := &flow.Options{Background: &operator.Unattended{Every: time.Hour}}
		charge := flow.Define("charge", func(r *flow.Run, amount int) (int, error) {
			return flow.Call(r, "charge", amount, func(_ context.Context, amount int) (int, error) {
				t.Error("a step ran")
				return amount, nil
			})
		})
		flows := map[string]*flow.Flows{"the same store": newFlows(t, s.guard, background, charge), "another store": newFlows(t, elsewhere, background, charge)}
		for door, around := range s.transactions(t) {
			ran := false
			around(func(ctx context.Context) {
				ran = true
				for store, f := range flows {
					_, err := flow.Start(ctx, f, charge, adasKey, 1)
					for act, err := range map[string]error{"Start": err, "Accept": flow.Accept(ctx, f, charge, adasKey, 1)} {
						if err == nil || !strings.Contains(err.Error(), "start the flow before or after it") {
							t.Errorf("%s in %s, %s: got %v, want a refusal that says what to do", act, door, store, err)
						}
					}
				}
			})
			if !ran {
				t.Errorf("%s: nothing ran inside", door)
			}
		}
	})
}
