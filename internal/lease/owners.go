package lease

import (
	"crypto/rand"
	"encoding/binary"
	"sync/atomic"
)

// Owners mints tokens that no other attempt of any process has: 64 random bits of its maker, and a count.
type Owners struct {
	prefix [8]byte
	count  atomic.Uint64
}

// NewOwners returns a mint of its own randomness.
func NewOwners() *Owners {
	o := &Owners{}
	_, _ = rand.Read(o.prefix[:]) // it never fails
	return o
}

// Next returns a token.
func (o *Owners) Next() (token [16]byte) {
	copy(token[:], o.prefix[:])
	binary.BigEndian.PutUint64(token[8:], o.count.Add(1))
	return token
}
