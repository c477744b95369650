package outcomecache_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/outcomecache"
	"github.com/semel-dev/semel/store/memstore"
)

// The cache holds what the store has: ciphertext, which the guard decrypts for
// every replay.
func TestCacheOfSealedOutcomes(t *testing.T) {
	t.Parallel()
	cache, err := outcomecache.New(memstore.New(nil), nil)
	must(t, err)
	t.Cleanup(func() { _ = cache.Close() })
	g, err := semel.New(cache, &semel.Options{OutcomeKeys: []semel.OutcomeKey{{ID: "k1", Key: [32]byte{1}}}})
	must(t, err)
	t.Cleanup(func() { _ = g.Close() })
	key := semel.Key{Scope: "s", Name: "k"}
	for range 3 {
		got, err := semel.Do(t.Context(), g, key, semel.Fingerprint{1}, func(context.Context) (string, error) { return "Ada", nil })
		if err != nil || got != "Ada" {
			t.Errorf("got %q, %v", got, err)
		}
	}
	rec, _, ok := cache.Recall(t.Context(), g.Digest(key))
	if id, sealed := semel.SealedWith(rec.Outcome); !ok || !sealed || id != "k1" || bytes.Contains(rec.Outcome, []byte("Ada")) {
		t.Errorf("the cache holds %q (%v), want ciphertext", rec.Outcome, ok)
	}
}
