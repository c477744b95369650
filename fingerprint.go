package semel

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

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
type Hasher struct {
	hash   hash.Hash // of what did not fit buf
	hashed bool      // hash holds the start of the parts
	n      int       // bytes of buf in use
	buf    [hasherBytes]byte
}

// hasherBytes bounds the parts that are collected before hashing: most requests
// fit, and one call is faster than many.
const hasherBytes = 512

// Add appends one part.
func (h *Hasher) Add(part string) {
	h.length(len(part))
	for {
		n := copy(h.buf[h.n:], part)
		h.n += n
		if part = part[n:]; part == "" {
			return
		}
		h.flush()
	}
}

// AddBytes appends one part. It does not keep the slice.
func (h *Hasher) AddBytes(part []byte) {
	h.length(len(part))
	if len(part) > len(h.buf)-h.n {
		h.flush()
	}
	if len(part) > len(h.buf) {
		h.hash.Write(part)
		return
	}
	h.n += copy(h.buf[h.n:], part)
}

// Sum returns the fingerprint of the parts added so far.
func (h *Hasher) Sum() Fingerprint {
	if !h.hashed {
		return sha256.Sum256(h.buf[:h.n])
	}
	h.flush()
	var f Fingerprint
	h.hash.Sum(f[:0])
	return f
}

// Reset forgets the parts, so that a Hasher can be reused.
func (h *Hasher) Reset() { h.hashed, h.n = false, 0 }

func (h *Hasher) length(n int) {
	if len(h.buf)-h.n < 8 {
		h.flush()
	}
	binary.BigEndian.PutUint64(h.buf[h.n:], uint64(n)) //nolint:gosec // a length is not negative.
	h.n += 8
}

func (h *Hasher) flush() {
	switch {
	case h.hash == nil:
		h.hash = sha256.New()
	case !h.hashed:
		h.hash.Reset()
	}
	h.hashed = true
	h.hash.Write(h.buf[:h.n])
	h.n = 0
}
