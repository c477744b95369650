package refusal

import (
	"context"
	"net/http"
	"strings"
)

type stripeKey struct{}

// ForStripe makes every problem of a request with this context one that the SDKs of Stripe understand.
func ForStripe(ctx context.Context) context.Context {
	return context.WithValue(ctx, stripeKey{}, true)
}

// forStripe reports whether an SDK of Stripe asks, or [ForStripe] was called.
func forStripe(r *http.Request) bool {
	return r.Header["X-Stripe-Client-User-Agent"] != nil || r.Context().Value(stripeKey{}) != nil
}

// stripeError is a problem as Stripe's API reports errors: https://docs.stripe.com/api/errors. The code is Stripe's own where
// it has one.
func (p *Problem) stripeError() map[string]string {
	kind, code := "invalid_request_error", strings.ReplaceAll(p.Name, "-", "_")
	switch {
	case p.Name == "in-flight":
		kind, code = "idempotency_error", "idempotency_key_in_use"
	case p.Name == "key-reused":
		kind = "idempotency_error"
	case p.Status == http.StatusTooManyRequests:
		code = "rate_limit"
	case p.Status >= http.StatusInternalServerError, p.Name == "outcome-unknown":
		kind = "api_error"
	}
	return map[string]string{"type": kind, "code": code, "message": p.Detail}
}
