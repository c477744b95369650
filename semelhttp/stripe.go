package semelhttp

import (
	"net/http"
	"strings"
)

// forStripe reports whether a problem has to be one that the SDKs of Stripe understand: one of them asks, or the middleware
// whose handler answers says so.
func forStripe(r *http.Request) bool {
	if r.Header["X-Stripe-Client-User-Agent"] != nil {
		return true
	}
	run, ok := r.Context().Value(executionKey{}).(*execution)
	return ok && run.m.set.StripeErrors
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
