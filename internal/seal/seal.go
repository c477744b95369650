// Package seal encrypts recorded outcomes.
package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
)

// maxKeys bounds how many keys a guard tries to know.
const maxKeys = 64

// A sealed outcome, as stores keep it:
//
//	mark (6 bytes) · kind (1) · length of the key's id (1) · id · nonce (12) · ciphertext · tag (16)
//
// The mark's first byte is in no JSON and no text, and begins no envelope of a
// door. Should an outcome begin with the whole mark nevertheless, a guard puts
// the mark and kindPlain before it: what begins with the mark is always ours.
const (
	mark       = "\xffSEMEL"
	kindPlain  = 0
	kindSealed = 1 // AES-256-GCM under a key derived for the intent

	derivation = "semel outcome 1"
)

var validID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$`)

// Key is a semel.OutcomeKey.
type Key struct {
	ID  string
	Key [32]byte
}

// Validate reports a key that no guard takes.
func (k *Key) Validate() error {
	switch {
	case !validID.MatchString(k.ID):
		return fmt.Errorf(`semel: outcome key: the id %q is not valid (1 to 32 letters, digits, ".", "_" and "-")`, k.ID)
	case k.Key == [32]byte{}:
		return fmt.Errorf("semel: outcome key %q is all zeroes (make one with: semel keys new)", k.ID)
	}
	return nil
}

// Keys encrypt outcomes with the first and decrypt with all. No keys do neither.
type Keys []Key

// Validate reports keys that no guard takes. The first of several may be zero:
// then outcomes are kept as they are, and the others decrypt.
func (s Keys) Validate() error {
	if len(s) > maxKeys {
		return fmt.Errorf("semel: %d outcome keys are given, at most %d are used (drop those whose retention has passed)", len(s), maxKeys)
	}
	for i := range s {
		if i == 0 && len(s) > 1 && s[i] == (Key{}) {
			continue
		}
		if err := s[i].Validate(); err != nil {
			return err
		}
		if s.find(s[i].ID) != &s[i] {
			return fmt.Errorf("semel: two outcome keys have the id %q (the store names a key by its id; give each its own)", s[i].ID)
		}
	}
	return nil
}

func (s Keys) find(id string) *Key {
	for i := range s {
		if id != "" && s[i].ID == id {
			return &s[i]
		}
	}
	return nil
}

// Seal reports whether there is a key to encrypt with.
func (s Keys) Seal() bool { return len(s) > 0 && s[0].ID != "" }

// Close returns what the store gets for an outcome. It is called once for a
// settlement: every repetition of it carries the same bytes. An empty outcome
// stays empty.
func (s Keys) Close(digest [32]byte, kept bool, plain []byte) ([]byte, error) {
	switch {
	case len(plain) == 0:
		return plain, nil
	case s.Seal():
		return s[0].seal(digest, kept, plain)
	case bytes.HasPrefix(plain, []byte(mark)):
		return append(head(kindPlain, len(plain)), plain...), nil
	}
	return plain, nil
}

// Open returns the outcome in what a store returned, or an error that says why
// it cannot be read.
func (s Keys) Open(digest [32]byte, kept bool, stored []byte) ([]byte, error) {
	if !bytes.HasPrefix(stored, []byte(mark)) {
		return stored, nil
	}
	if len(stored) > len(mark) && stored[len(mark)] == kindPlain {
		return stored[len(mark)+1:], nil
	}
	id, ok := ID(stored)
	if !ok {
		return nil, errors.New("it is sealed in a way that this program does not know (was it recorded by a newer version?)")
	}
	key := s.find(id)
	if key == nil {
		return nil, fmt.Errorf("it is encrypted with the key %q, which this program was not given", id)
	}
	return key.open(digest, kept, stored)
}

// ID returns the ID of the key under which an outcome, as a store keeps it, is
// encrypted; ok is false for one that is not.
func ID(stored []byte) (id string, ok bool) {
	rest, ok := bytes.CutPrefix(stored, []byte(mark))
	if !ok || len(rest) < 2 || rest[0] != kindSealed || len(rest) < 2+int(rest[1]) {
		return "", false
	}
	return string(rest[2 : 2+int(rest[1])]), true
}

// head starts a sealed outcome, with room for more.
func head(kind byte, room int) []byte {
	h := make([]byte, 0, len(mark)+1+room)
	return append(append(h, mark...), kind)
}

// cipherOf returns the cipher of one intent.
func (k *Key) cipherOf(digest [32]byte) (cipher.AEAD, error) {
	derived, err := hkdf.Expand(sha256.New, k.Key[:], derivation+string(digest[:]), len(k.Key))
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// bound returns what a ciphertext is bound to in addition to its intent: the
// head, which names the key, and whether it is the whole answer.
func bound(head []byte, digest [32]byte, kept bool) []byte {
	flag := byte(0)
	if kept {
		flag = 1
	}
	what := make([]byte, 0, len(head)+len(digest)+1)
	return append(append(append(what, head...), digest[:]...), flag)
}

func (k *Key) seal(digest [32]byte, kept bool, plain []byte) ([]byte, error) {
	aead, err := k.cipherOf(digest)
	if err != nil {
		return nil, fmt.Errorf("semel: encrypt the outcome with key %q: %w", k.ID, err)
	}
	sealed := head(kindSealed, 1+len(k.ID)+aead.Overhead()+len(plain))
	sealed = append(append(sealed, byte(len(k.ID))), k.ID...)              //nolint:gosec // validated: at most 32.
	return aead.Seal(sealed, nil, plain, bound(sealed, digest, kept)), nil //nolint:gosec // it draws the nonce itself.
}

func (k *Key) open(digest [32]byte, kept bool, stored []byte) ([]byte, error) {
	start := len(mark) + 2 + len(k.ID)
	aead, err := k.cipherOf(digest)
	if err != nil {
		return nil, fmt.Errorf("key %q: %w", k.ID, err)
	}
	plain, err := aead.Open(nil, nil, stored[start:], bound(stored[:start], digest, kept))
	if err != nil {
		return nil, fmt.Errorf("it does not fit its record under the key %q (it was changed, cut off or copied from another record, or that id now names another key)", k.ID)
	}
	return plain, nil
}
