package semel

import (
	"crypto/sha256"
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
func (k Key) Digest() Digest {
	return digest.Sum(k.Scope, k.Name)
}
