package semelhttp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

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

// ScopeFunc says whose key a request carries and for what. Two scopes never
// see each other's keys (promise 5).
//
// It runs after whatever authenticates and authorises the caller: mount the
// middleware inside that, so that a replay is authorised as strictly as an
// execution. An error that wraps [semel.ErrScopeMissing] is answered with 400;
// any other with 500, without its text.
type ScopeFunc func(*http.Request) (string, error)

const (
	// principalBytes of the principal's SHA-256 name it in a scope.
	principalBytes = 16
	// maxReadableBytes of the operation stay readable; a longer one is hashed.
	maxReadableBytes = 256
)

// ScopeBy makes the scope of most services: the principal, method, host and
// path. principal returns the caller's identity, such as an account's id or the
// Authorization header; it is kept as a digest only. An empty one is answered
// with 400: return a constant for anonymous callers who may share their keys.
func ScopeBy(principal func(*http.Request) string) ScopeFunc {
	return func(r *http.Request) (string, error) {
		who := principal(r)
		if who == "" {
			return "", fmt.Errorf("%w: the request names no caller", semel.ErrScopeMissing)
		}
		var few [128]byte
		sum := sha256.Sum256(append(few[:0], who...))
		host, path := strings.ToLower(r.Host), r.URL.EscapedPath()
		var room [2*principalBytes + 3 + maxReadableBytes]byte
		scope := hex.AppendEncode(room[:0], sum[:principalBytes])
		if len(r.Method)+len(host)+len(path) <= maxReadableBytes && readable(r.Method) && readable(host) && readable(path) {
			scope = append(append(scope, ' '), r.Method...)
			scope = append(append(scope, ' '), host...)
			return string(append(append(scope, ' '), path...)), nil
		}
		operation := semel.FingerprintOf(r.Method, host, path)
		return string(hex.AppendEncode(append(scope, ' '), operation[:])), nil
	}
}

// readable reports whether s stays clear as one word of a scope.
func readable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= 0x20 || r > 0x7E })
}
