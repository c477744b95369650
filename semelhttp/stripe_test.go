package semelhttp_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/refusal"
	"github.com/semel-dev/semel/semelhttp"
)

// stripeError holds the part of an answer that an SDK of Stripe reads.
type stripeError struct {
	Error *struct{ Type, Code, Message string }
}

// TestStripeErrors: where the options or the request ask for it, every refusal is also an error for SDKs of Stripe. To other
// clients it stays a problem.
func TestStripeErrors(t *testing.T) {
	t.Parallel()
	cases := []struct {
		key, body, problem, kind, code, again string
	}{
		{"", "x", "key-missing", "invalid_request_error", "key_missing", "false"},
		{strings.Repeat("k", 300), "x", "key-invalid", "invalid_request_error", "key_invalid", "false"},
		{"done", "other", "key-reused", "idempotency_error", "key_reused", "false"},
		{"lost", "x", "outcome-unknown", "api_error", "outcome_unknown", "false"},
		{"k1", "x", "in-flight", "idempotency_error", "idempotency_key_in_use", "true"},
		{"told", "x", "overloaded", "api_error", "overloaded", "true"},
	}
	for name, c := range map[string]struct {
		options semelhttp.Options
		header  []string
		want    bool
	}{
		"by option":  {options: semelhttp.Options{StripeErrors: true}, want: true},
		"by request": {header: []string{"X-Stripe-Client-User-Agent", "{}"}, want: true},
		"neither":    {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.options.Required, c.options.On5xx = true, semelhttp.UnknownOn5xx
			d := newDoor(t, doorOptions{Options: c.options, policy: semel.Policy{Wait: semel.NoWait}})
			running, finish := make(chan struct{}), make(chan struct{})
			server := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch r.Header.Get("Idempotency-Key") {
				case "k1":
					close(running)
					<-finish
				case "lost":
					w.WriteHeader(http.StatusInternalServerError)
				case "told":
					semelhttp.WriteProblem(w, r, semelhttp.Problem{Name: "overloaded", Detail: "Come back.", Status: 503, Retryable: true})
				}
			})
			var first sync.WaitGroup
			first.Go(func() { ask(t, server, "k1", "x") })
			<-running
			defer first.Wait()
			defer close(finish)
			ask(t, server, "done", "x")
			ask(t, server, "lost", "x")
			for _, row := range cases {
				got := ask(t, server, row.key, row.body, c.header...)
				if got.problem() != row.problem {
					t.Errorf("%s: got %d %s", row.problem, got.status, got.body)
				}
				var told stripeError
				noError(t, json.Unmarshal([]byte(got.body), &told))
				again := got.header.Get("Stripe-Should-Retry")
				switch {
				case !c.want:
					if told.Error != nil || again != "" {
						t.Errorf("%s: got %s, Stripe-Should-Retry %q, want neither of Stripe's", row.problem, got.body, again)
					}
				case told.Error == nil:
					t.Errorf("%s: got %s, want an error: stripe-node takes it for a success", row.problem, got.body)
				case told.Error.Type != row.kind || told.Error.Code != row.code || told.Error.Message == "" || again != row.again:
					t.Errorf("%s: got %+v, again %q, want %s %s, again %q", row.problem, *told.Error, again, row.kind, row.code, row.again)
				}
			}
		})
	}
}

// TestInFlightStatus: a duplicate of a running request can be refused with a status that more clients retry, and the published
// policy says so.
func TestInFlightStatus(t *testing.T) {
	t.Parallel()
	var invoices counter
	d := newDoor(t, doorOptions{policy: semel.Policy{Wait: semel.NoWait}, Options: semelhttp.Options{InFlightStatus: 503}})
	server, finish := d.busy(t, &invoices)
	second := ask(t, server, "k1", "x")
	wantProblem(t, second, http.StatusServiceUnavailable, "in-flight")
	if after := second.header.Get("Retry-After"); after != "1" || !strings.Contains(second.body, `"status":503`) {
		t.Errorf("Retry-After: got %q, want 1; %s", after, second.body)
	}
	finish()
	invoices.wantRan(t, "promise 1", 1)
	problems := d.policy(t).Problems
	i := slices.IndexFunc(problems, func(p refusal.PolicyProblem) bool { return strings.HasSuffix(p.Type, ":in-flight") })
	if i < 0 || problems[i].Status != http.StatusServiceUnavailable {
		t.Errorf("published: got %+v, want in-flight with 503", problems)
	}
	if _, err := semelhttp.New(d.guard, semelhttp.ScopeBy(anonymous), &semelhttp.Options{InFlightStatus: 425}); err == nil || !strings.Contains(err.Error(), "409 or 503") {
		t.Errorf("425: got %v, want an error that says what it can be", err)
	}
}
