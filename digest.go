package semel

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/semel-dev/semel/internal/digest"
)

// Digest is the identity of an intent at rest: SHA-256 over scope and name,
// each preceded by its length, or HMAC-SHA-256 where the guard has a secret.
// Stores know an intent by this fixed number of bytes alone, so no collation,
// length limit or separator can make two keys one.
type Digest [sha256.Size]byte

// String returns the digest in lower-case hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// ParseDigest reads the 64 hexadecimal digits that [Digest.String] writes.
func ParseDigest(s string) (Digest, error) {
	var d Digest
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != len(d) {
		return Digest{}, fmt.Errorf("%w: a digest has %d hexadecimal digits", ErrKeyInvalid, 2*len(d))
	}
	copy(d[:], raw)
	return d, nil
}

// Digest returns the identity of the key without a secret.
func (k Key) Digest() Digest { return digest.Sum(k.Scope, k.Name) }

// Fingerprint is the SHA-256 digest of what was asked. The same key with
// another fingerprint is a mismatch: it never executes and never sees the
// recorded answer (promise 6). Two zero fingerprints are equal, so a caller
// that gives none gets no mismatch check.
type Fingerprint [sha256.Size]byte

// String returns the fingerprint in lower-case hexadecimal.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// FingerprintOf digests the parts of a request, strings or byte slices, in their order. Every part is
// preceded by its length (8 bytes, big-endian), so that ("ab", "c") and
// ("a", "bc") differ.
func FingerprintOf[Part ~string | ~[]byte](parts ...Part) Fingerprint {
	var few [256]byte
	b := few[:0]
	for _, p := range parts {
		b = binary.BigEndian.AppendUint64(b, uint64(len(p)))
		b = append(b, p...)
	}
	return sha256.Sum256(b)
}

// Hasher builds a [Fingerprint] part by part, in constant memory. The zero
// value is ready. It is not safe for concurrent use.
type Hasher struct{ parts digest.Parts }

// Add appends one part.
func (h *Hasher) Add(part string) { h.parts.Add(part) }

// AddBytes appends one part. It does not keep the slice.
func (h *Hasher) AddBytes(part []byte) { h.parts.AddBytes(part) }

// Sum returns the fingerprint of the parts added so far.
func (h *Hasher) Sum() Fingerprint { return h.parts.Sum() }

// Reset forgets the parts, so that a Hasher can be reused.
func (h *Hasher) Reset() { h.parts.Reset() }
