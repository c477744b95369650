package digest

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// Parts builds a fingerprint part by part, in constant memory. The zero value is ready.
type Parts struct {
	hash   hash.Hash // of what did not fit buf
	hashed bool      // hash holds the start of the parts
	n      int       // bytes of buf in use
	buf    [partsBytes]byte
}

// partsBytes bounds the parts that are collected before hashing: most requests
// fit, and one call is faster than many.
const partsBytes = 512

// Add appends one part.
func (p *Parts) Add(part string) {
	p.length(len(part))
	for {
		n := copy(p.buf[p.n:], part)
		p.n += n
		if part = part[n:]; part == "" {
			return
		}
		p.flush()
	}
}

// AddBytes appends one part. It does not keep the slice.
func (p *Parts) AddBytes(part []byte) {
	p.length(len(part))
	if len(part) > len(p.buf)-p.n {
		p.flush()
	}
	if len(part) > len(p.buf) {
		p.hash.Write(part)
		return
	}
	p.n += copy(p.buf[p.n:], part)
}

// Sum returns the fingerprint of the parts added so far.
func (p *Parts) Sum() [sha256.Size]byte {
	if !p.hashed {
		return sha256.Sum256(p.buf[:p.n])
	}
	p.flush()
	var sum [sha256.Size]byte
	p.hash.Sum(sum[:0])
	return sum
}

// Reset forgets the parts, so that the value can be reused.
func (p *Parts) Reset() { p.hashed, p.n = false, 0 }

func (p *Parts) length(n int) {
	if len(p.buf)-p.n < 8 {
		p.flush()
	}
	binary.BigEndian.PutUint64(p.buf[p.n:], uint64(n)) //nolint:gosec // a length is not negative.
	p.n += 8
}

func (p *Parts) flush() {
	switch {
	case p.hash == nil:
		p.hash = sha256.New()
	case !p.hashed:
		p.hash.Reset()
	}
	p.hashed = true
	p.hash.Write(p.buf[:p.n])
	p.n = 0
}
