package semel

import (
	"errors"
	"fmt"
	"io"

	"github.com/semel-dev/semel/internal/seal"
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

// Validate reports a key that no guard takes.
func (k *OutcomeKey) Validate() error { return (*seal.Key)(k).Validate() }

// sealKeys returns the keys of a guard.
func sealKeys(keys []OutcomeKey) (seal.Keys, error) {
	all := make(seal.Keys, len(keys))
	for i, k := range keys {
		all[i] = seal.Key(k)
	}
	return all, all.Validate()
}

// SealedWith returns the ID of the key under which an outcome, as a store keeps
// it, is encrypted; ok is false for one that is not. It needs no key.
func SealedWith(stored []byte) (id string, ok bool) { return seal.ID(stored) }

// Seals reports whether the guard keeps outcomes encrypted. The database then
// cannot make an outcome itself.
func (g *Guard) Seals() bool { return g.core.sealer.Seal() }

// Reveal decrypts the outcome of a record that was read from the store and not
// from the guard, such as by [Lister]; every record that a guard returns is
// revealed already. An error wraps [ErrUnreadable], and the outcome is then nil:
// the key is missing, or the bytes were tampered with. Plain outcomes stay as
// they are.
func (g *Guard) Reveal(rec *Record) error { return g.core.reveal(rec) }

func (c *core) reveal(rec *Record) error {
	plain, err := c.sealer.Open(rec.Digest, rec.Kept, rec.Outcome)
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
