package dbguard

import (
	"context"
	"errors"
	"time"

	"github.com/semel-dev/semel"
)

// lockCheckAttempts bounds how often [LockCheckUpdate] runs when the database
// ends its transaction each time because of another one.
const lockCheckAttempts = 10

// Steps lists the steps of [LockCheckUpdate], in order.
type Steps[T any] struct {
	// Lock are the rows on which Check and Update rest. They are locked in one
	// order, whatever their order here.
	Lock []Row
	// Wait bounds the wait for each of them. Default as long as ctx lasts; a
	// negative one does not wait.
	Wait time.Duration

	// Dedup remembers Key, and the result of Update.
	Dedup *Dedup
	Key   semel.Key
	// Fingerprint is that of what was asked with Key.
	Fingerprint semel.Fingerprint

	// Check is the business check: whether Update may be done, as the locked rows
	// are now. Its error ends everything, is returned as it is, and is not
	// remembered: the next attempt is checked again. Nil checks nothing.
	Check func(ctx context.Context, tx Session) error
	// Update does it, in tx.
	Update func(ctx context.Context, tx Session) (T, error)
}

// LockCheckUpdate is "lock, check twice, update" (一锁二判三更新) in a transaction of
// its own: lock the rows, check whether the key was done before, check whether
// business allows it, update, and commit, which keeps the result and unlocks. A
// duplicate gets the first result (first is false), and neither Check nor Update
// runs for it.
//
//	lock ──▶ done before? ──no──▶ allowed? ──yes──▶ update, keep the result ──▶ commit
//	  │          │ yes               │ no                │ error                  │
//	  ▼          ▼                   ▼                   ▼                        ▼
//	ErrHeld     the first result    Check's error       Update's error          result
//	 …          nothing changes     rolled back: nothing happened, the key is free
//
// It is right for money and stock: a decision over rows that others change too, for a
// request that may come twice. It is not right where one statement says it all
// ([UpdateVersion], [Machine.Transition], a unique key): that is shorter and
// holds no lock between round trips. All callers with the same rows run one after the
// other: where that is too slow, split the row ([Segments]).
//
// When the database ends the transaction because of another one ([Retryable]),
// it runs again from the lock, a bounded number of times: Check and Update may
// run more than once for one commit, and must do nothing outside of tx. An
// error that wraps [semel.ErrUnknown] is one of the commit, which may or may
// not have taken place: call again with the same key to find out.
func LockCheckUpdate[T any](ctx context.Context, db Database, steps Steps[T]) (result T, first bool, err error) {
	if steps.Dedup == nil || steps.Update == nil || len(steps.Lock) == 0 {
		return result, false, errors.New("dbguard: lock, check, update needs rows to lock, a dedup table and an update")
	}
	if err := steps.Key.Validate(); err != nil {
		return result, false, err
	}
	for range lockCheckAttempts {
		err = db.InTx(ctx, func(ctx context.Context, tx Session) error {
			result, first, err = steps.run(ctx, tx)
			return err
		})
		if err == nil {
			return result, first, nil
		}
		if !Retryable(err) || ctx.Err() != nil {
			break
		}
	}
	var none T
	return none, false, err
}

func (s *Steps[T]) run(ctx context.Context, tx Session) (result T, first bool, err error) {
	if err := LockRows(ctx, tx, s.Wait, s.Lock...); err != nil {
		return result, false, err
	}
	return Once(ctx, s.Dedup, tx, s.Key, s.Fingerprint, func(ctx context.Context) (T, error) {
		if s.Check != nil {
			if err := s.Check(ctx, tx); err != nil {
				var none T
				return none, err
			}
		}
		return s.Update(ctx, tx)
	})
}
