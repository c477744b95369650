package formguard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"time"
)

// Press makes many tokens for one route and one visitor, as for the forms of one
// page: a token costs one HMAC and no memory. It is made by [Minter.Press] and is
// for one goroutine.
type Press struct {
	now     func() time.Time
	mac     hash.Hash // with the key
	covered []byte    // by the MAC: see coveredBy
	seed    []byte    // what the ids begin with; nil for nothing
	sum     []byte
	plain   [plainBytes]byte
}

// Press returns a press for the route and the reader: see [Minter.Mint].
func (m *Minter) Press(route, who string) *Press {
	p := &Press{now: m.now, mac: hmac.New(sha256.New, m.secrets[0]), sum: make([]byte, 0, sha256.Size)}
	p.covered = coveredBy(&p.plain, route, who)
	return p
}

// Append appends a new token.
func (p *Press) Append(to []byte) []byte {
	_, _ = rand.Read(p.plain[:idBytes]) // it does not return errors
	copy(p.plain[:], p.seed)
	issued := uint64(min(max(p.now().Unix(), 0), maxIssued))
	var wide [8]byte
	binary.BigEndian.PutUint64(wide[:], issued)
	copy(p.plain[idBytes:], wide[8-issuedBytes:])
	copy(p.covered[len(Prefix):], p.plain[:idBytes+issuedBytes])
	p.mac.Reset()
	p.mac.Write(p.covered)
	p.sum = p.mac.Sum(p.sum[:0])
	copy(p.plain[idBytes+issuedBytes:], p.sum)
	to = append(to, Prefix...)
	return base64.RawURLEncoding.AppendEncode(to, p.plain[:])
}
