package semelhttp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"github.com/semel-dev/semel"
)

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
// path. principal returns who asks, such as an account's id or the
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
