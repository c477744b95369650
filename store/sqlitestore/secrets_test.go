package sqlitestore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
)

// Promise 1, while a secret is being replaced: of many attempts at two
// processes' guards, which name new records by different secrets, one executes.
func TestSecretsRace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "semel.db")
	before, after := []byte("the old secret, of enough bytes"), []byte("the new secret, of enough bytes")
	var guards []*semel.Guard
	for _, secrets := range [][][]byte{{before, after}, {after, before}} {
		g, err := semel.New(open(t, path, nil), &semel.Options{Secrets: secrets, SweepEvery: -1, Policy: semel.Policy{Wait: time.Minute}})
		noError(t, err)
		closes(t, g)
		guards = append(guards, g)
	}
	const keys, attempts = 20, 8
	var runs [keys]atomic.Int64
	var wg sync.WaitGroup
	for i := range keys * attempts {
		wg.Go(func() {
			n := i / attempts
			got, err := semel.Do(t.Context(), guards[i%2], semel.Key{Scope: "s", Name: fmt.Sprint(n)}, semel.Fingerprint{1}, func(context.Context) (int64, error) {
				return runs[n].Add(1), nil
			})
			if err != nil || got != 1 {
				t.Errorf("key %d: got %d, error %v; want the answer of the one execution", n, got, err)
			}
		})
	}
	wg.Wait()
}
