package semelgrpc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/semel-dev/semel"
)

// ScopeFunc says whose key a call carries and for what. Two scopes never see each other's keys (promise 5). method is
// the full name, "/package.Service/Method".
//
// It runs after the interceptors that authenticate and authorise the caller: chain the door inside of them, so that a
// replay is authorised as strictly as an execution. An error that wraps [semel.ErrScopeMissing] is answered with
// INVALID_ARGUMENT; any other with INTERNAL, without its text.
type ScopeFunc func(ctx context.Context, method string) (string, error)

const (
	// principalBytes of the principal's SHA-256 name it in a scope.
	principalBytes = 16
	// maxReadableBytes of the method stay readable; a longer one is hashed.
	maxReadableBytes = 256
)

// ScopeBy makes the scope of most services: the principal and the method. The authority that the client dialled does not
// count, because a retry may reach another server under another name. principal returns the identity of the caller, such as an account's
// id; it is kept as a digest only. An empty one is answered with INVALID_ARGUMENT: return a constant for anonymous
// callers who may share their keys.
func ScopeBy(principal func(context.Context) string) ScopeFunc {
	return func(ctx context.Context, method string) (string, error) {
		caller := principal(ctx)
		if caller == "" {
			return "", fmt.Errorf("%w: the call names no caller", semel.ErrScopeMissing)
		}
		var few [128]byte
		sum := sha256.Sum256(append(few[:0], caller...))
		var room [2*principalBytes + 1 + maxReadableBytes]byte
		scope := append(hex.AppendEncode(room[:0], sum[:principalBytes]), ' ')
		if len(method) <= maxReadableBytes {
			return string(append(scope, method...)), nil
		}
		operation := semel.FingerprintOf(method)
		return string(hex.AppendEncode(scope, operation[:])), nil
	}
}
