package recent_test

import (
	"crypto/sha256"
	"testing"

	"github.com/semel-dev/semel/internal/recent"
)

// What was added last is remembered, what was not is not, and the set does not
// grow.
func TestSet(t *testing.T) {
	t.Parallel()
	var s recent.Set
	const n = 100_000
	sum := func(i int) [32]byte { return sha256.Sum256([]byte{byte(i), byte(i >> 8), byte(i >> 16)}) }
	wrong := 0
	for i := range n {
		if s.Has(sum(i)) {
			wrong++
		}
		s.Add(sum(i))
		if !s.Has(sum(i)) {
			t.Fatalf("digest %d is not remembered", i)
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d digests were taken for others", wrong, n)
	}
	if s.Has(sum(0)) && s.Has(sum(1)) && s.Has(sum(2)) && s.Has(sum(3)) {
		t.Error("nothing is ever forgotten")
	}
}
