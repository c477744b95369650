package semel

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

// Fingerprint is the SHA-256 digest of what was asked. The same key with
// another fingerprint is a mismatch: it never executes and never sees the
// recorded answer (promise 6). Two zero fingerprints are equal like any other
// two, so a caller that gives none gets no mismatch check.
type Fingerprint [sha256.Size]byte

// String returns the fingerprint in lower-case hexadecimal.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// FingerprintOf digests the parts of a request in their order. Every part is
// preceded by its length (8 bytes, big-endian), so that ("ab", "c") and
// ("a", "bc") differ.
func FingerprintOf(parts ...string) Fingerprint {
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
type Hasher struct {
	hash hash.Hash
	buf  [sha256.Size]byte
}

// Add appends one part.
func (h *Hasher) Add(part string) {
	h.length(len(part))
	for len(part) > 0 {
		n := copy(h.buf[:], part)
		h.hash.Write(h.buf[:n])
		part = part[n:]
	}
}

// AddBytes appends one part. It does not keep the slice.
func (h *Hasher) AddBytes(part []byte) {
	h.length(len(part))
	h.hash.Write(part)
}

// Sum returns the fingerprint of the parts added so far.
func (h *Hasher) Sum() Fingerprint {
	h.ready()
	return Fingerprint(h.hash.Sum(h.buf[:0]))
}

// Reset forgets the parts, so that a Hasher can be reused.
func (h *Hasher) Reset() {
	h.ready()
	h.hash.Reset()
}

func (h *Hasher) length(n int) {
	h.ready()
	binary.BigEndian.PutUint64(h.buf[:8], uint64(n)) //nolint:gosec // a length is never negative.
	h.hash.Write(h.buf[:8])
}

func (h *Hasher) ready() {
	if h.hash == nil {
		h.hash = sha256.New()
	}
}
