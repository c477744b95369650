package semel

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// errDatabaseRecords refuses an [outcomeMaker] of a guard with keys.
var errDatabaseRecords = errors.New("semel: this transaction's outcome is made by the database, which cannot encrypt it (use one whose work returns it, or a guard without outcome keys)")

// OutcomeKey is a key under which a [Guard] keeps outcomes encrypted. Every
// intent's outcome has a key of its own, derived from this one (HKDF-SHA-256
// over the digest), so that the 2^32 messages after which AES-GCM with random
// nonces needs another key are counted for each intent, and not for the store.
//
// It prints as its ID, whatever the verb.
type OutcomeKey struct {
	// ID names the key in the store and in messages, and is public: 1 to 32
	// letters, digits, ".", "_" and "-". Never give one ID to two keys.
	ID string
	// Key is secret: 32 bytes of crypto/rand.
	Key [32]byte
}

// Format implements [fmt.Formatter]: the ID, never the key.
func (k OutcomeKey) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "outcome key "+k.ID) }

// MarshalText implements [encoding.TextMarshaler], for logs: the ID, never the key.
func (k OutcomeKey) MarshalText() ([]byte, error) { return []byte("outcome key " + k.ID), nil }

// Seals reports whether the guard keeps outcomes encrypted. The database then
// cannot make an outcome itself.
func (g *Guard) Seals() bool { return g.core.sealer.active() }

// Reveal decrypts the outcome of a record that was read from the store and not
// from the guard, such as by [Lister]; every record that a guard returns is
// revealed already. An error wraps [ErrUnreadable], and the outcome is then nil:
// the key is missing, or the bytes were tampered with. Plain outcomes stay as
// they are.
func (g *Guard) Reveal(rec *Record) error { return g.core.reveal(rec) }

func (c *core) reveal(rec *Record) error {
	plain, err := c.sealer.openOutcome(rec.Digest, rec.Kept, rec.Outcome)
	rec.Outcome = plain
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return nil
}

// reveal decrypts the outcomes that an attempt returns. An intent whose outcome
// cannot be read was still executed, and is not executed again (promise 3).
func (a *attempt) reveal(rec *Record, err error) (*Record, error) {
	if rec != nil {
		if unreadable := a.guard.core.reveal(rec); unreadable != nil {
			a.met = rec
			return nil, a.fail(unreadable)
		}
		return rec, err
	}
	e, ok := err.(*Error) //nolint:errorlint // fail made it.
	if !ok || e.Record == nil || len(e.Record.Outcome) == 0 {
		return nil, err
	}
	known := *e.Record
	e.Record = &known
	if unreadable := a.guard.core.reveal(&known); unreadable != nil && !errors.Is(e.Err, ErrUnreadable) {
		e.Err = fmt.Errorf("%w (nor its summary: %w)", e.Err, unreadable)
	}
	return nil, err
}

// maxOutcomeKeys bounds how many keys a guard tries to know.
const maxOutcomeKeys = 64

// A sealed outcome, as stores keep it:
//
//	mark (6 bytes) · kind (1) · length of the key's id (1) · id · nonce (12) · ciphertext · tag (16)
//
// The mark's first byte is in no JSON and no text, and begins no envelope of a
// door. Should an outcome begin with the whole mark nevertheless, a guard puts
// the mark and kindPlain before it: what begins with the mark is always ours.
const (
	sealMark   = "\xffSEMEL"
	kindPlain  = 0
	kindSealed = 1 // AES-256-GCM under a key derived for the intent

	sealDerivation = "semel outcome 1"
)

var validKeyID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$`)

// Validate reports a key that no guard takes.
func (k *OutcomeKey) Validate() error {
	switch {
	case !validKeyID.MatchString(k.ID):
		return fmt.Errorf(`semel: outcome key: the id %q is not valid (1 to 32 letters, digits, ".", "_" and "-")`, k.ID)
	case k.Key == [32]byte{}:
		return fmt.Errorf("semel: outcome key %q is all zeroes (make one with: semel keys new)", k.ID)
	}
	return nil
}

// outcomeKeys encrypt outcomes with the first and decrypt with all. No keys do neither.
type outcomeKeys []OutcomeKey

// validate reports keys that no guard takes. The first of several may be zero:
// then outcomes are kept as they are, and the others decrypt.
func (s outcomeKeys) validate() error {
	if len(s) > maxOutcomeKeys {
		return fmt.Errorf("semel: %d outcome keys are given, at most %d are used (drop those whose retention has passed)", len(s), maxOutcomeKeys)
	}
	for i := range s {
		if i == 0 && len(s) > 1 && s[i] == (OutcomeKey{}) {
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

func (s outcomeKeys) find(id string) *OutcomeKey {
	for i := range s {
		if id != "" && s[i].ID == id {
			return &s[i]
		}
	}
	return nil
}

// active reports whether there is a key to encrypt with.
func (s outcomeKeys) active() bool { return len(s) > 0 && s[0].ID != "" }

// close returns what the store gets for an outcome. It is called once for a
// settlement: every repetition of it carries the same bytes. An empty outcome
// stays empty.
func (s outcomeKeys) close(digest [32]byte, kept bool, plain []byte) ([]byte, error) {
	switch {
	case len(plain) == 0:
		return plain, nil
	case s.active():
		return s[0].seal(digest, kept, plain)
	case bytes.HasPrefix(plain, []byte(sealMark)):
		return append(sealHead(kindPlain, len(plain)), plain...), nil
	}
	return plain, nil
}

// openOutcome returns the outcome in what a store returned, or an error that says why
// it cannot be read.
func (s outcomeKeys) openOutcome(digest [32]byte, kept bool, stored []byte) ([]byte, error) {
	if !bytes.HasPrefix(stored, []byte(sealMark)) {
		return stored, nil
	}
	if len(stored) > len(sealMark) && stored[len(sealMark)] == kindPlain {
		return stored[len(sealMark)+1:], nil
	}
	id, ok := SealedWith(stored)
	if !ok {
		return nil, errors.New("it is sealed in a way that this program does not know (was it recorded by a newer version?)")
	}
	key := s.find(id)
	if key == nil {
		return nil, fmt.Errorf("it is encrypted with the key %q, which this program was not given", id)
	}
	return key.openOutcome(digest, kept, stored)
}

// SealedWith returns the ID of the key under which an outcome, as a store keeps it, is
// encrypted; ok is false for one that is not. It needs no key.
func SealedWith(stored []byte) (id string, ok bool) {
	rest, ok := bytes.CutPrefix(stored, []byte(sealMark))
	if !ok || len(rest) < 2 || rest[0] != kindSealed || len(rest) < 2+int(rest[1]) {
		return "", false
	}
	return string(rest[2 : 2+int(rest[1])]), true
}

// sealHead starts a sealed outcome, with room for more.
func sealHead(kind byte, room int) []byte {
	h := make([]byte, 0, len(sealMark)+1+room)
	return append(append(h, sealMark...), kind)
}

// cipherOf returns the cipher of one intent.
func (k *OutcomeKey) cipherOf(digest [32]byte) (cipher.AEAD, error) {
	derived, err := hkdf.Expand(sha256.New, k.Key[:], sealDerivation+string(digest[:]), len(k.Key))
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// sealBound returns what a ciphertext is bound to in addition to its intent: the
// head, which names the key, and whether it is the whole answer.
func sealBound(head []byte, digest [32]byte, kept bool) []byte {
	flag := byte(0)
	if kept {
		flag = 1
	}
	what := make([]byte, 0, len(head)+len(digest)+1)
	return append(append(append(what, head...), digest[:]...), flag)
}

func (k *OutcomeKey) seal(digest [32]byte, kept bool, plain []byte) ([]byte, error) {
	aead, err := k.cipherOf(digest)
	if err != nil {
		return nil, fmt.Errorf("semel: encrypt the outcome with key %q: %w", k.ID, err)
	}
	sealed := sealHead(kindSealed, 1+len(k.ID)+aead.Overhead()+len(plain))
	sealed = append(append(sealed, byte(len(k.ID))), k.ID...)                  //nolint:gosec // validated: at most 32.
	return aead.Seal(sealed, nil, plain, sealBound(sealed, digest, kept)), nil //nolint:gosec // it draws the nonce itself.
}

func (k *OutcomeKey) openOutcome(digest [32]byte, kept bool, stored []byte) ([]byte, error) {
	start := len(sealMark) + 2 + len(k.ID)
	aead, err := k.cipherOf(digest)
	if err != nil {
		return nil, fmt.Errorf("key %q: %w", k.ID, err)
	}
	plain, err := aead.Open(nil, nil, stored[start:], sealBound(stored[:start], digest, kept))
	if err != nil {
		return nil, fmt.Errorf("it does not fit its record under the key %q (it was changed, cut off or copied from another record, or that id now names another key)", k.ID)
	}
	return plain, nil
}
