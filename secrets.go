package semel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/semel-dev/semel/internal/digest"
	"github.com/semel-dev/semel/internal/waiting"
)

const (
	// yieldRounds bounds how often one attempt yields its claim to one under
	// another secret, which may be doing the same; yieldPause is the longest first
	// pause, and doubles.
	yieldRounds = 8
	yieldPause  = 2 * time.Millisecond
)

// While a secret is being replaced, an intent has a digest for each, and
// processes disagree about which of them names a new record. So that only one
// claim of the intent executes, each claims and then checks:
//
//	look under the other digests: a record there belongs to the intent, work with it
//	claim under the first digest
//	look under the other digests again: a record there means yield and begin anew
//
// Of two that claim at once under different digests, the later claim exists
// before its second look, which therefore sees the earlier one, or its
// settlement: every verb of a store is one atomic step. Both may yield; both
// never execute. Nothing runs before the second look, so yielding releases.

// errTxSecrets refuses transaction mode: a claim inside an uncommitted
// transaction is invisible, so a second look proves nothing.
var errTxSecrets = errors.New("semel: transaction mode works with one secret only (Options.Secrets has more: replace secrets in services that use Begin, or while nothing is sent)")

// CheckTx returns why [Guard.BeginTx] refuses every intent under the options of
// this guard, or nil: more than one secret, because no other process sees a claim
// inside of a transaction. Doors ask once, when they are made.
func (g *Guard) CheckTx() error {
	if g.core.rotating() {
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

// rotating reports whether a secret is being replaced.
func (c *core) rotating() bool { return len(c.digesters) > 1 }

// digest returns the digest under which a new record of the intent is made.
func (c *core) digest(k Key) Digest { return c.digesters[0].Of(k.Scope, k.Name) }

// digests returns the digests under which the intent may have a record, a new
// record's first.
func (c *core) digests(k Key) []Digest { return digest.All[Digest](c.digesters, k.Scope, k.Name) }

// names reports whether the digest is one of the intent's.
func (c *core) names(k Key, d Digest) bool {
	return c.digest(k) == d || (c.rotating() && slices.Contains(c.digests(k), d))
}

// claimRotating is claimFresh while a secret is being replaced.
func (a *attempt) claimRotating(began time.Time) storeAnswer {
	core := a.guard.core
	ds := core.digests(a.key)
	for round := range yieldRounds {
		rec, err := core.foremost(a.ctx, ds[1:])
		if err == nil {
			rec, err = core.foremost(a.ctx, ds)
		}
		switch {
		case err == nil:
			return a.meet(&rec)
		case !errors.Is(err, ErrNotFound):
			return storeAnswer{err: a.lookupError(err)}
		}
		a.digest = ds[0]
		s := a.ask(0, began)
		if s.err != nil || !s.won {
			return s
		}
		other, err := core.foremost(a.ctx, ds[1:])
		if errors.Is(err, ErrNotFound) {
			return s
		}
		a.yield(&s.rec, a.params(0), Settlement{State: StateReleased})
		if err != nil {
			return storeAnswer{err: a.lookupError(err)}
		}
		a.met = &other
		if !waiting.Sleep(a.ctx, jitter(round)) {
			return storeAnswer{err: a.lookupError(context.Cause(a.ctx))}
		}
		began = time.Now()
	}
	return storeAnswer{err: fmt.Errorf("%w: under another secret", ErrInFlight)}
}

// jitter is the pause after a round in which both sides may have yielded.
func jitter(round int) time.Duration {
	return time.Duration(rand.Int64N(int64(yieldPause << round))) //nolint:gosec // it only has to differ from the twin's
}
