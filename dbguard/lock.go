package dbguard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/transition"
	"github.com/semel-dev/semel/internal/waiting"
)

// What a [Locker] and its locks answer. Match with errors.Is.
var (
	// ErrHeld: another holder has the lock, or another transaction the row, for
	// longer than the caller would wait.
	ErrHeld = errors.New("dbguard: another holder has the lock")
	// ErrLost: the lock was not renewed in time, and another holder has it or
	// may. Stop, and roll back what is not committed.
	ErrLost = errors.New("dbguard: the lock was lost")
)

var errUnlocked = errors.New("dbguard: the lock was released")

// unlockTimeout bounds one release.
const unlockTimeout = 5 * time.Second

// Lock is a lock that is held, until [Lock.Unlock] or until it is lost. It is
// safe for concurrent use. [Locker.Lock] and [Locker.TryLock] are the doors.
type Lock struct {
	locker *Locker
	name   string
	owner  semel.Owner
	fence  semel.Fence
	lease  time.Duration

	ctx    context.Context //nolint:containedctx // the time in which the lock is held.
	cancel context.CancelCauseFunc
	trust  *time.Timer   // loses the lock when its lease can no longer be trusted
	kept   chan struct{} // closed when nothing renews any more
	leave  func()        // lets the next caller of this process try

	unheard   bool          // a request may have won it unheard; while it is not held
	unlocking chan struct{} // holds one: who calls the store
	released  bool          // guarded by unlocking
	answer    error         // of the store, when released
}

// Context is the context of the work that the lock guards: the caller's, until
// the lock is lost (the cause wraps [ErrLost]) or released. A holder that
// is suspended learns of it late: check what it writes by the fence.
func (l *Lock) Context() context.Context { return l.ctx }

// Fence is a number that is greater than that of every former holder of this
// name. Hand it to [LockTable.CheckFence], [FenceTable.Advance] or any system that refuses a
// smaller one. It is the store's time in microseconds when the lock was taken,
// or more: compare it, and read nothing else into it.
func (l *Lock) Fence() semel.Fence { return l.fence }

// Name returns the name that is locked.
func (l *Lock) Name() string { return l.name }

// Unlock releases the lock and ends [Lock.Context]. It returns [ErrLost] when
// another holder took the lock before: the work was not alone. A lock that was
// lost but not taken is not an error. After any other error the lock may or may
// not be released; it is once Unlock is called again and succeeds, or the lease
// ends. Further calls repeat the store's first answer.
//
// It is not stopped by the end of ctx, and takes at most 5 seconds.
func (l *Lock) Unlock(ctx context.Context) error {
	l.unlocking <- struct{}{}
	defer func() { <-l.unlocking }()
	if l.released {
		return l.answer
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
	defer cancel()
	l.cancel(errUnlocked)
	select {
	case <-l.kept: // or a renewal could arrive after the release
	case <-ctx.Done():
	}
	defer l.leave()
	var held bool
	err := lockPersist(ctx, func() (err error) {
		held, err = l.locker.store.Release(ctx, l.name, l.owner)
		return err
	})
	if err != nil {
		return fmt.Errorf("unlock: %w", err)
	}
	l.released = true
	if !held {
		l.answer = ErrLost
	}
	return l.answer
}

// lose tells the work to stop.
func (l *Lock) lose(err error) { l.cancel(fmt.Errorf("%w: %w", ErrLost, err)) }

// keep renews the lock every third of its lease, until it is lost or released
// or the caller's context ends: a lock that its holder forgot is then free a
// lease later.
func (l *Lock) keep(began time.Time) {
	defer close(l.kept)
	defer l.trust.Stop()
	beat := time.NewTimer(l.lease/3 - time.Since(began))
	defer beat.Stop()
	for {
		select {
		case <-l.ctx.Done():
		case <-l.locker.life.Done():
			l.lose(semel.ErrClosed)
		case <-beat.C:
			began = time.Now()
			if l.renew() {
				l.trust.Reset(transition.Trusted(l.lease) - time.Since(began))
				beat.Reset(l.lease/3 - time.Since(began))
				continue
			}
		}
		if !errors.Is(context.Cause(l.ctx), errUnlocked) { // who releases leaves after that
			l.leave()
		}
		return
	}
}

// renew renews once, again and again while the store does not answer, until
// the lock is lost by its lease.
func (l *Lock) renew() bool {
	for pause := range lockPauses.Pauses() {
		held, err := l.locker.store.Renew(l.ctx, l.name, l.owner, l.lease)
		switch {
		case err == nil && held:
			return true
		case err == nil:
			l.lose(errors.New("another holder has it"))
			return false
		}
		if !waiting.Sleep(l.ctx, pause) {
			return false
		}
	}
	return false
}
