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
