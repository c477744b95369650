package semel_test

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
)

// plainFingerprint is the definition: SHA-256 over every part after its length.
func plainFingerprint(parts []string) semel.Fingerprint {
	var all []byte
	for _, part := range parts {
		all = binary.BigEndian.AppendUint64(all, uint64(len(part)))
		all = append(all, part...)
	}
	return sha256.Sum256(all)
}

// TestHasher: whatever the lengths of the parts, and in whatever way they are
// collected, a fingerprint matches its definition.
func TestHasher(t *testing.T) {
	t.Parallel()
	var h semel.Hasher // reused throughout
	var lengths []int
	for _, around := range []int{0, 8, 32, 496, 504, 512, 520, 1024, 5000} {
		for n := max(0, around-9); n <= around+9; n++ {
			lengths = append(lengths, n)
		}
	}
	for _, first := range lengths {
		for _, second := range []int{0, 1, 8, 500, 512, 513, 2000} {
			parts := []string{strings.Repeat("a", first), strings.Repeat("b", second), "", "c"}
			want := plainFingerprint(parts)
			if got := semel.FingerprintOf(parts...); got != want {
				t.Fatalf("FingerprintOf with parts of %d and %d bytes: got %v, want %v", first, second, got, want)
			}
			h.Reset()
			for _, part := range parts {
				h.AddBytes([]byte(part))
			}
			if got := h.Sum(); got != want {
				t.Fatalf("AddBytes with parts of %d and %d bytes: got %v, want %v", first, second, got, want)
			}
			if got := h.Sum(); got != want {
				t.Fatalf("a second Sum with parts of %d and %d bytes: got %v, want %v", first, second, got, want)
			}
		}
	}
}
