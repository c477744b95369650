package semelhttp

import (
	"fmt"
	"net/http"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/browserkey"
)

// KeySource finds the key of a request. Implementations must be safe for
// concurrent use. One that wraps another says so by a method
// Unwrap() KeySource; one that refuses requests with problems of its own (see
// [UnverifiedError]) lists them by a method Refusals() []Problem.
type KeySource interface {
	// Key returns the name of the intent, or found = false when the request
	// carries none. An error that wraps [semel.ErrKeyInvalid] is answered with
	// 400; one that comes from body must be returned wrapped; a [*semel.Error] of
	// [semel.ErrUnavailable] is treated like a store that cannot be reached (503,
	// or Options.FailOpen).
	Key(r *http.Request, body *Body) (name string, found bool, err error)
	// String describes the source in the published policy, such as
	// "header Idempotency-Key".
	String() string
}

// FromHeader takes the key from a request header, as
// draft-ietf-httpapi-idempotency-key-header-07 says: "abc" in quotes and abc
// are the same key, parameters are ignored, and two header lines are refused. So is
// a key in DefaultHeader where another name is read and has none: its sender wants
// to be protected. One that a browser added on its own does not count.
func FromHeader(name string) KeySource {
	return &headerSource{name: http.CanonicalHeaderKey(name)}
}

type headerSource struct {
	name    string
	literal bool // the value is the key, unparsed
}

// Key implements [KeySource].
func (s *headerSource) Key(r *http.Request, _ *Body) (string, bool, error) {
	values := r.Header[s.name]
	switch len(values) {
	case 0:
		if s.elsewhere(r) {
			return "", true, fmt.Errorf("%w: it came in %s; this service reads it from %s", semel.ErrKeyInvalid, DefaultHeader, s.name)
		}
		return "", false, nil
	case 1:
	default:
		return "", false, fmt.Errorf("%w: the header %s came %d times", semel.ErrKeyInvalid, s.name, len(values))
	}
	if s.literal {
		return values[0], true, nil
	}
	key, err := semel.ParseKey(semel.ScopeGlobal, values[0])
	return key.Name, true, err
}

// elsewhere reports whether the request has a key in the usual header, which is not this one.
func (s *headerSource) elsewhere(r *http.Request) bool {
	return !s.literal && s.name != DefaultHeader && len(r.Header[DefaultHeader]) > 0 && !browserkey.Added(r.Header.Values)
}

// String implements [KeySource].
func (s *headerSource) String() string { return "header " + s.name }

// FromWebhookID takes the key from the header webhook-id of Standard Webhooks.
func FromWebhookID() KeySource {
	return &headerSource{name: "Webhook-Id", literal: true}
}

// sourceAs finds a source of type T in the source or in what it wraps.
func sourceAs[T KeySource](source KeySource) (found T, ok bool) {
	for {
		if found, ok = source.(T); ok {
			return found, true
		}
		wrapper, wraps := source.(interface{ Unwrap() KeySource })
		if !wraps {
			return found, false
		}
		source = wrapper.Unwrap()
	}
}
