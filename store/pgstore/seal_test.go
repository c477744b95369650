package pgstore_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/semel-dev/semel"
)

// Under a guard with keys, every way to record an outcome encrypts it: also
// Exec, whose outcome the database makes on its own otherwise.
func TestSealedOutcomes(t *testing.T) {
	t.Parallel()
	s := openShop(t, &semel.Options{OutcomeKeys: []semel.OutcomeKey{{ID: "k1", Key: [32]byte{1}}}})
	for name, run := range map[string]func(context.Context) (order, error){
		"exec": func(ctx context.Context) (order, error) { return s.exec(ctx, s.guard, "exec", "Ada") },
		"do":   func(ctx context.Context) (order, error) { return s.do(ctx, "do Ada") },
		"run":  func(ctx context.Context) (order, error) { return s.run(ctx, s.guard, "run", nil, "Ada with") },
	} {
		first, err := run(t.Context())
		if err != nil || first.ID == 0 {
			t.Fatalf("%s: got %v, %v", name, first, err)
		}
		key := orderKey(name)
		if name == "do" {
			key = orderKey("do Ada")
		}
		rec, err := s.store.Lookup(t.Context(), s.guard.Digest(key))
		if id, ok := semel.SealedWith(rec.Outcome); err != nil || !ok || id != "k1" || !rec.Kept || bytes.Contains(rec.Outcome, []byte("Ada")) {
			t.Errorf("%s: the database keeps %q, %v; want it encrypted", name, rec.Outcome, err)
		}
		again, err := run(t.Context())
		if err != nil || again != first {
			t.Errorf("%s: got %v, %v; want %v again", name, again, err, first)
		}
	}
	s.idle(t)
}
