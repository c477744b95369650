// Package digest computes the identities that package semel keeps: the digest of a key, with or without a secret, and the
// fingerprint of a request.
package digest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"sync"
)

const (
	minSecretBytes = 16
	maxSecrets     = 4
)

// Sum is SHA-256 over scope and name, each preceded by its length.
func Sum(scope, name string) [sha256.Size]byte {
	var few [128]byte
	return sha256.Sum256(appendTo(few[:0], scope, name))
}

// appendTo writes scope and name, each after its length.
func appendTo(b []byte, scope, name string) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(len(scope)))
	b = append(b, scope...)
	b = binary.BigEndian.AppendUint64(b, uint64(len(name)))
	return append(b, name...)
}

// Digester turns keys into digests; it keeps keyed hashes for reuse. One without a secret hashes plainly.
type Digester struct {
	secret []byte
	pool   sync.Pool // of hash.Hash
}

// Digesters returns one for each secret; one without a secret when there are none.
func Digesters(secrets [][]byte) ([]*Digester, error) {
	if err := check(secrets); err != nil {
		return nil, err
	}
	all := make([]*Digester, max(1, len(secrets)))
	for i := range all {
		all[i] = &Digester{}
		if i < len(secrets) {
			all[i].secret = bytes.Clone(secrets[i])
		}
	}
	return all, nil
}

func check(secrets [][]byte) error {
	if len(secrets) > maxSecrets {
		return fmt.Errorf("%d secrets are given, at most %d are used (drop those that no record has any more)", len(secrets), maxSecrets)
	}
	for i, secret := range secrets {
		if n := len(secret); n > 0 && n < minSecretBytes {
			return fmt.Errorf("secret has %d bytes, at least %d are needed", n, minSecretBytes)
		}
		for _, before := range secrets[:i] {
			if bytes.Equal(before, secret) {
				return errors.New("a secret is given twice (the first names new records, each of the others is one that is being replaced)")
			}
		}
	}
	return nil
}

// Of returns the digest of a key: [Sum], or HMAC-SHA-256 over the same bytes where there is a secret.
func (d *Digester) Of(scope, name string) [sha256.Size]byte {
	if len(d.secret) == 0 {
		return Sum(scope, name)
	}
	h, ok := d.pool.Get().(hash.Hash)
	if !ok {
		h = hmac.New(sha256.New, d.secret)
	}
	defer d.pool.Put(h)
	h.Reset()
	h.Write(appendTo(nil, scope, name))
	var out [sha256.Size]byte
	h.Sum(out[:0])
	return out
}

// All returns the digests of a key, as a D, in the order of their secrets.
func All[D ~[sha256.Size]byte](digesters []*Digester, scope, name string) []D {
	all := make([]D, len(digesters))
	for i, d := range digesters {
		all[i] = D(d.Of(scope, name))
	}
	return all
}
