package semelhttp

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/semel-dev/semel"
)

type intentContextKey struct{}

// WithIntent says that what is sent under the returned context is the intent
// with this key: a [Transport] sends the key with it, in every attempt. Keep
// the key with the wish (a row, a draft, a queue entry) and use it again when
// the operation is retried, even by another process.
//
// One intent is one request. Two different requests under one context would
// share the key, and the second would be refused as a reuse of it.
func WithIntent(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, intentContextKey{}, key)
}

// NewIntent is [WithIntent] with a fresh key, a random UUID. Call it once per
// wish, outside the loop that retries.
func NewIntent(ctx context.Context) context.Context {
	return WithIntent(ctx, newIntentKey())
}

// IntentFrom returns the key that [WithIntent] or [NewIntent] put into ctx. The
// context of a [Transport]'s Response.Request carries the key that was sent.
func IntentFrom(ctx context.Context) (key string, ok bool) {
	key, ok = ctx.Value(intentContextKey{}).(string)
	return key, ok
}

// newIntentKey returns a UUID of version 4.
func newIntentKey() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0F | 0x40
	b[8] = b[8]&0x3F | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// quoteIntentKey writes the key as a String of RFC 8941.
func quoteIntentKey(key string) (string, error) {
	if err := (semel.Key{Scope: semel.ScopeGlobal, Name: key}).Validate(); err != nil {
		return "", err
	}
	for i := range len(key) {
		if key[i] > 0x7E {
			return "", fmt.Errorf("%w: byte %d is not printable ASCII, and cannot travel in a header", semel.ErrKeyInvalid, i)
		}
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`, nil
}
