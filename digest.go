package semel

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"sync"
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
func (k Key) Digest() Digest {
	var few [128]byte
	return sha256.Sum256(k.appendTo(few[:0]))
}

// appendTo writes scope and name, each after its length.
func (k Key) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(len(k.Scope)))
	b = append(b, k.Scope...)
	b = binary.BigEndian.AppendUint64(b, uint64(len(k.Name)))
	return append(b, k.Name...)
}

// digester turns keys into digests; it keeps keyed hashes for reuse.
// A digester without a secret hashes plainly.
type digester struct {
	secret []byte
	pool   sync.Pool // of hash.Hash
}

func (d *digester) digest(k Key) Digest {
	if len(d.secret) == 0 {
		return k.Digest()
	}
	h, ok := d.pool.Get().(hash.Hash)
	if !ok {
		h = hmac.New(sha256.New, d.secret)
	}
	defer d.pool.Put(h)
	h.Reset()
	h.Write(k.appendTo(nil))
	var out Digest
	h.Sum(out[:0])
	return out
}
