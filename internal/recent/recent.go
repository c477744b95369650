// Package recent remembers, roughly, which intents a process has met lately.
package recent

import (
	"encoding/binary"
	"sync/atomic"
)

const slots = 1 << 14

// Set remembers which digests have had a row lately, in 128 KiB: a claim of one
// of them is probably a duplicate, and reads first, while others insert first.
// Either is right whatever there is; a wrong guess costs a round trip.
//
// The zero Set has met nothing. It is safe for concurrent use.
type Set [slots]atomic.Uint64

// slot spreads by other bits of the digest, a SHA-256 sum, than tag.
func (s *Set) slot(d *[32]byte) *atomic.Uint64 {
	return &s[binary.LittleEndian.Uint16(d[:])%slots]
}

func tag(d *[32]byte) uint64 { return binary.LittleEndian.Uint64(d[8:]) | 1 }

// Add remembers a digest, in the place of another one.
func (s *Set) Add(d [32]byte) {
	if slot := s.slot(&d); slot.Load() != tag(&d) {
		slot.Store(tag(&d))
	}
}

// Has reports whether the digest is remembered; it may be taken for another one.
func (s *Set) Has(d [32]byte) bool { return s.slot(&d).Load() == tag(&d) }
