package semel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	minSecretBytes = 16
	maxSecrets     = 4
	// yieldRounds bounds how often one attempt gives its claim back to one
	// under another secret, which may be doing the same; yieldPause is the
	// longest first pause, and doubles.
	yieldRounds = 8
	yieldPause  = 2 * time.Millisecond
)

// While a secret is being replaced, an intent has a digest for each, and
// processes disagree about which of them names a new record. So that only one
// claim of the intent executes, each claims and then checks:
//
//	look under the other digests: a record there is the intent's, work with it
//	claim under the first digest
//	look under the other digests again: a record there means yield and begin anew
//
// Of two that claim at once under different digests, the later claim stands
// before its second look, which therefore sees the earlier one, or its
// settlement: every verb of a store is one atomic step. Both may yield; both
// never execute. Nothing runs before the second look, so yielding releases.

// errTxSecrets refuses transaction mode: nobody sees a claim inside of a
// transaction that has not committed, so a second look proves nothing.
var errTxSecrets = errors.New("semel: transaction mode works with one secret only (Options.Secrets has more: replace secrets in services that use Begin, or while nothing is sent)")

// CheckTx returns why [Guard.BeginTx] refuses every intent under the options of
// this guard, or nil: more than one secret, because no other process sees a claim
// inside of a transaction. Doors ask once, when they are made.
func (g *Guard) CheckTx() error {
	if len(g.core.older) > 0 {
		return errTxSecrets
	}
	return nil
}

// Holds reports whether ctx works under a claim of the intent, in a transaction
// or not.
func (g *Guard) Holds(ctx context.Context, k Key) bool {
	if outer := TxClaimFrom(ctx); outer != nil && g.core.names(k, outer.Digest()) {
		return true
	}
	outer := ClaimFrom(ctx)
	return outer != nil && g.core.names(k, outer.Digest())
}

func checkSecrets(secrets [][]byte) error {
	if len(secrets) > maxSecrets {
		return fmt.Errorf("semel: new guard: %d secrets are given, at most %d are used (drop those that no record has any more)", len(secrets), maxSecrets)
	}
	for i, secret := range secrets {
		if n := len(secret); n > 0 && n < minSecretBytes {
			return fmt.Errorf("semel: new guard: secret has %d bytes, at least %d are needed", n, minSecretBytes)
		}
		for _, before := range secrets[:i] {
			if bytes.Equal(before, secret) {
				return errors.New("semel: new guard: a secret is given twice (the first names new records, each of the others is one that is being replaced)")
			}
		}
	}
	return nil
}

func (c *core) setSecrets(secrets [][]byte) {
	for i, secret := range secrets {
		if i == 0 {
			c.digester.secret = bytes.Clone(secret)
			continue
		}
		c.older = append(c.older, &digester{secret: bytes.Clone(secret)})
	}
}

// digests returns what the intent may be known by, a new record's first.
func (c *core) digests(k Key) []Digest {
	ds := make([]Digest, 0, 1+len(c.older))
	ds = append(ds, c.digester.digest(k))
	for _, older := range c.older {
		ds = append(ds, older.digest(k))
	}
	return ds
}

// names reports whether the digest is one of the intent's.
func (c *core) names(k Key, d Digest) bool {
	if c.digester.digest(k) == d {
		return true
	}
	return len(c.older) > 0 && slices.Contains(c.digests(k), d)
}

// find is the store's Lookup under every secret, within the time for the store.
func (c *core) find(ctx context.Context, k Key) (Record, error) {
	return c.standing(ctx, c.digests(k))
}

// standing returns the record of an intent that counts among those under the
// digests, or [ErrNotFound].
func (c *core) standing(ctx context.Context, ds []Digest) (Record, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	best, err := Record{}, ErrNotFound
	for _, d := range ds {
		rec, lookErr := c.store.Lookup(ctx, d)
		switch {
		case errors.Is(lookErr, ErrNotFound):
		case lookErr != nil:
			return Record{}, lookErr
		case err != nil || outranks(&rec, &best):
			best, err = rec, nil
		}
	}
	return best, err
}

// outranks orders the records of one intent, in the same way for every process:
// an answer, a tombstone, a running claim, what is unknown; then by digest.
func outranks(a, b *Record) bool {
	if x, y := rank(a), rank(b); x != y {
		return x < y
	}
	return bytes.Compare(a.Digest[:], b.Digest[:]) < 0
}

func rank(r *Record) int {
	switch {
	case r.State == StateCompleted:
		return 0
	case r.State == StateCancelled:
		return 1
	case r.State == StateClaimed && !r.Lapsed():
		return 2
	}
	return 3
}

// claimFresh claims an intent of which nothing is known, or returns the record
// that stands in the way. began is now, or a little earlier.
func (a *attempt) claimFresh(began time.Time) step {
	if len(a.guard.core.older) == 0 {
		return a.claim(0, began)
	}
	core := a.guard.core
	ds := core.digests(a.key)
	for round := range yieldRounds {
		rec, err := core.standing(a.ctx, ds[1:])
		if err == nil {
			rec, err = core.standing(a.ctx, ds)
		}
		switch {
		case err == nil:
			return a.meet(&rec)
		case !errors.Is(err, ErrNotFound):
			return step{err: a.lookupError(err)}
		}
		a.digest = ds[0]
		s := a.claim(0, began)
		if s.err != nil || !s.won {
			return s
		}
		other, err := core.standing(a.ctx, ds[1:])
		if errors.Is(err, ErrNotFound) {
			return s
		}
		a.yield(&s.rec, a.params(0), Settlement{State: StateReleased})
		if err != nil {
			return step{err: a.lookupError(err)}
		}
		a.met = &other
		if !sleep(a.ctx, jitter(round)) {
			return step{err: a.lookupError(context.Cause(a.ctx))}
		}
		began = time.Now()
	}
	return step{err: fmt.Errorf("%w: under another secret", ErrInFlight)}
}

// takeOver claims an intent whose record is unknown or lapsed, unless another
// record of it counts more.
func (a *attempt) takeOver(before *Record) step {
	s := a.claim(before.Fence, time.Now())
	core := a.guard.core
	if s.err != nil || !s.won || len(core.older) == 0 {
		return s
	}
	others := slices.DeleteFunc(core.digests(a.key), func(d Digest) bool { return d == a.digest })
	other, err := core.standing(a.ctx, others)
	neverRan := a.neverRan(before)
	if errors.Is(err, ErrNotFound) || (err == nil && !neverRan && !outranks(&other, before)) {
		return s
	}
	to := Settlement{State: StateReleased}
	if !neverRan { // what was unknown before stays unknown
		to = Settlement{State: StateUnknown, Note: before.Note, Retention: a.guard.policy.UnknownRetention}
	}
	a.yield(&s.rec, a.params(before.Fence), to)
	if err != nil {
		return step{err: a.lookupError(err)}
	}
	return a.meet(&other)
}

// takeOverAlone is takeOver for a record that nobody asked about: while a secret
// is replaced, an intent may have another one, which counts more.
func (a *attempt) takeOverAlone(before *Record) step {
	if len(a.guard.core.older) > 0 {
		best, err := a.guard.core.find(a.ctx, a.key)
		switch {
		case errors.Is(err, ErrNotFound): // the store does not have the key to find it by
		case err != nil:
			return step{err: a.lookupError(err)}
		case best.Digest != before.Digest:
			return step{rec: best}
		}
	}
	return a.takeOver(before)
}

// meet goes on with the record, under whichever digest it is.
func (a *attempt) meet(rec *Record) step {
	a.digest = rec.Digest
	a.met = rec
	return step{rec: *rec}
}

// yield gives a claim back under which nothing ran. The next one has another
// owner, so that undoing this one late does not end it.
func (a *attempt) yield(rec *Record, p ClaimParams, to Settlement) {
	a.guard.core.handBack(a.ctx, rec, p, to)
	a.dismiss(p.TakeOver)
	a.owner = a.guard.core.newOwner()
}

// handBack settles a claim under which nothing ran, in the background where the
// answer is lost.
func (c *core) handBack(ctx context.Context, rec *Record, p ClaimParams, to Settlement) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.timeout)
	defer cancel()
	if err := c.store.Settle(ctx, rec.Digest, rec.Fence, to); err != nil && !definite(err) {
		c.giveBack(p) //nolint:contextcheck // it must not end with the context.
	}
	c.waiters.wake(rec.Digest)
}

// jitter is the pause after a round in which both sides may have yielded.
func jitter(round int) time.Duration {
	return time.Duration(rand.Int64N(int64(yieldPause << round))) //nolint:gosec // it only has to differ from the twin's.
}

// cancelRotating is [Guard.Cancel] while a secret is being replaced.
func (g *Guard) cancelRotating(ctx context.Context, entry AuditEntry, k Key, tombstone Settlement) (Record, error) {
	c := g.core
	ds := c.digests(k)
	for round := range yieldRounds {
		rec, err := c.standing(ctx, ds)
		switch {
		case err == nil && rec.State == StateCancelled:
			return rec, nil
		case err == nil:
			return g.resolve(ctx, entry, rec.Digest, tombstone)
		case !errors.Is(err, ErrNotFound):
			return Record{}, fmt.Errorf("semel: cancel: %w", err)
		}
		p := g.operatorClaim(ds[0], k.Scope, k.Name, Fingerprint{})
		rec, won, err := c.store.Claim(ctx, p)
		switch {
		case err != nil:
			if !definite(err) {
				c.giveBack(p) //nolint:contextcheck // it outlives the call.
			}
			return Record{}, fmt.Errorf("semel: cancel: %w", err)
		case !won:
			continue // somebody was faster: look again
		}
		_, err = c.standing(ctx, ds[1:])
		if errors.Is(err, ErrNotFound) {
			return g.settleAs(ctx, &entry, p, tombstone, "") // it has the claim: the owner is the same
		}
		c.handBack(ctx, &rec, p, Settlement{State: StateReleased})
		if err != nil {
			return Record{}, fmt.Errorf("semel: cancel: %w", err)
		}
		if !sleep(ctx, jitter(round)) {
			return Record{}, fmt.Errorf("semel: cancel: %w", context.Cause(ctx))
		}
	}
	return Record{}, &Error{Op: "cancel", Digest: ds[0], RetryAfter: retryInFlight, Err: ErrInFlight}
}
