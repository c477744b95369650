package semel_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
)

// FuzzReveal: whatever bytes a store returns, a guard with keys gives back what
// was recorded plainly, or says that it cannot be read; it never takes what it
// did not encrypt for an answer that it did.
func FuzzReveal(f *testing.F) {
	key := semel.OutcomeKey{ID: "k1", Key: [32]byte{1, 2, 3}}
	g, err := semel.New(memstore.New(nil), &semel.Options{OutcomeKeys: []semel.OutcomeKey{key}, SweepEvery: -1})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = g.Close() })
	sealed := func(plain []byte) []byte {
		claim, _, err := g.Begin(f.Context(), testKey(fmt.Sprintf("%q", plain)), testFingerprint())
		if err != nil {
			f.Fatal(err)
		}
		if err := claim.Complete(plain, nil); err != nil {
			f.Fatal(err)
		}
		rec, err := g.Store().Lookup(f.Context(), claim.Digest())
		if err != nil {
			f.Fatal(err)
		}
		return rec.Outcome
	}
	for _, plain := range []string{"an answer", "\xffSEMEL", "\xffSEMEL\x01\x02k1"} {
		f.Add([]byte(plain), true)
		f.Add(sealed([]byte(plain)), true)
	}
	f.Fuzz(func(t *testing.T, stored []byte, kept bool) {
		rec := semel.Record{Digest: testKey("another").Digest(), State: semel.StateCompleted, Outcome: bytes.Clone(stored), Kept: kept}
		err := g.Reveal(&rec)
		_, isSealed := semel.SealedWith(stored)
		switch {
		case isSealed && err == nil:
			t.Errorf("%q belongs to no record of this digest, and was revealed as %q", stored, rec.Outcome)
		case err == nil && !bytes.HasSuffix(stored, rec.Outcome):
			t.Errorf("%q was revealed as %q", stored, rec.Outcome)
		}
	})
}
