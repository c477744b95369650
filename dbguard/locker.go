package dbguard

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/transition"
	"github.com/semel-dev/semel/internal/waiting"
)

const (
	defaultLease = 30 * time.Second
	minLease     = 10 * time.Millisecond
	maxLease     = 24 * time.Hour
	maxLockName  = 200
	// maxLockErrors bounds how often in a row the store may fail to answer before
	// its error is the caller's.
	maxLockErrors = 5
)

var lockPauses = waiting.Backoff{First: time.Millisecond, Most: 100 * time.Millisecond} //nolint:gochecknoglobals // it is never changed.

// LockStore holds the locks of a [Locker]: [LockTable.On] for databases,
// package redisguard for Redis. Every method is one atomic step, is safe for
// concurrent use, and goes by the store's clock alone. An owner is random and
// identifies one caller that wants a lock once.
type LockStore interface {
	// Acquire gives the lock to the owner for the lease when it is free or the
	// lease of its former holder has ended; otherwise won is false. The
	// fence is greater than any that was given for the name before. It is
	// repeated when its reply was lost: the owner that holds the lock gets the
	// same fence again, and the lease begins anew.
	Acquire(ctx context.Context, name string, owner semel.Owner, lease time.Duration) (fence semel.Fence, won bool, err error)
	// Renew starts the lease anew, even when it has ended, as long as no other
	// owner took the lock. It is not held if one did, or after its release.
	Renew(ctx context.Context, name string, owner semel.Owner, lease time.Duration) (held bool, err error)
	// Release frees the lock at once. It was held unless another owner took it;
	// repeating it says the same until then. A name never locked is not held.
	Release(ctx context.Context, name string, owner semel.Owner) (held bool, err error)
}

// LockOptions adjust one lock. Nil is complete.
type LockOptions struct {
	// Lease bounds how long a holder that died blocks the others after its last
	// sign of life; a living one renews it every third of that. Default: 30
	// seconds. At least 10 milliseconds, and no less than three times what the
	// store may take to answer; at most a day.
	Lease time.Duration
	// Wait bounds how long [Locker.Lock] waits. Default: as long as its
	// context lasts.
	Wait time.Duration
}

// Locker takes fenced locks: at most one holder of a name at a time among all
// processes with the same store, and a fence by which what a former holder
// still writes is refused. [NewLocker] is the only door; it is safe for
// concurrent use.
//
// It is right for work that spans more than one transaction: a job that must run on
// one machine at a time, calls to a system that has no idempotency of its own.
// It is not right where one transaction does it all (lock the row there), and
// not as a record of what was done: a lock keeps two from working at once, and
// not from working one after the other. Without a check of the fence by
// [LockTable.CheckFence] or [FenceTable.Advance] it is a hint and not a guard, like any lock with a
// lease.
//
// Callers of one Locker get a lock in the order in which they asked, each as
// soon as the one before unlocks. Lockers, and so processes, compete without an
// order: each asks again after a pause that grows from 1 to 100 milliseconds,
// half more or less by chance, so a freed lock is seen after at most 150
// milliseconds, and one that never stops asking may by chance wait long. A
// caller who must not sets [LockOptions.Wait] or a deadline.
type Locker struct {
	store LockStore
	life  context.Context //nolint:containedctx // the locker's life, ended by Close.
	end   context.CancelFunc

	running sync.WaitGroup // what renews, and what gives up
	mu      sync.Mutex     // guards the fields below
	closed  bool
	turns   map[string]*lockTurn
}

// lockTurn lets one caller at a time ask the store for a name.
type lockTurn struct {
	taken chan struct{} // holds one: whose turn it is; those who wait are served in order
	users int           // who has it or waits for it; guarded by Locker.mu
}

// NewLocker makes a locker. Close it.
func NewLocker(store LockStore) *Locker {
	l := &Locker{store: store, turns: map[string]*lockTurn{}}
	l.life, l.end = context.WithCancel(context.Background())
	return l
}

// Lock takes the lock, and waits for it while another holder has it. When that
// lasts too long, it returns [ErrHeld]; when ctx ends, its cause as well. The
// lock is held until [Lock.Unlock], and renewed until then or until ctx ends.
//
// A name is 1 to 200 bytes of text without control characters.
func (l *Locker) Lock(ctx context.Context, name string, o *LockOptions) (*Lock, error) {
	lease, wait, err := o.check(name)
	if err = errors.Join(err, l.closedError()); err != nil {
		return nil, err
	}
	patience, cancel := l.patience(ctx, wait)
	defer cancel()
	leave, err := l.queue(patience, name, false)
	if err != nil {
		return nil, err
	}
	lock := l.newLock(ctx, name, lease, leave)
	failed := 0
	for pause := range lockPauses.Pauses() {
		won, acquireErr := lock.acquire(patience)
		switch {
		case won:
			return lock, nil
		case acquireErr == nil:
			failed = 0
		case patience.Err() != nil:
			return nil, lock.giveUp(ctx, fmt.Errorf("%w: %w", heldError(patience), acquireErr))
		case failed == maxLockErrors:
			return nil, lock.giveUp(ctx, acquireErr)
		default:
			failed++
		}
		if !waiting.Sleep(patience, pause) {
			return nil, lock.giveUp(ctx, heldError(patience))
		}
	}
	return nil, lock.giveUp(ctx, ErrHeld)
}

// TryLock takes the lock if it is free, and returns [ErrHeld] at once if
// it is held, or if another caller in this process is just asking for it.
func (l *Locker) TryLock(ctx context.Context, name string, o *LockOptions) (*Lock, error) {
	lease, _, err := o.check(name)
	if err = errors.Join(err, l.closedError()); err != nil {
		return nil, err
	}
	patience, cancel := l.patience(ctx, 0)
	defer cancel()
	leave, err := l.queue(patience, name, true)
	if err != nil {
		return nil, err
	}
	lock, won := l.newLock(ctx, name, lease, leave), false
	err = lockPersist(patience, func() (err error) {
		won, err = lock.acquire(patience)
		return err
	})
	switch {
	case err != nil:
		return nil, lock.giveUp(ctx, err)
	case !won:
		return nil, lock.giveUp(ctx, ErrHeld)
	}
	return lock, nil
}

// Do runs work while it holds the lock, on the lock's context. It returns the
// error of work, and [ErrLost] when another holder may have worked at the same
// time, whatever work returned. When work panics, the lock is released.
func (l *Locker) Do(ctx context.Context, name string, o *LockOptions, work func(ctx context.Context, fence semel.Fence) error) (err error) {
	lock, err := l.Lock(ctx, name, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock(ctx)) }()
	return work(lock.Context(), lock.Fence()) //nolint:contextcheck // it is the caller's, until the lock is lost.
}

// Close gives up all locks: their contexts end with [ErrLost], nothing is
// renewed any more, and waiting callers get [semel.ErrClosed]. It releases
// nothing, because work may still be under way; [Lock.Unlock] does, also
// afterwards. It returns when nothing of the locker runs any more.
func (l *Locker) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.end()
	l.running.Wait()
	return nil
}

func (l *Locker) closedError() error {
	if l.life.Err() != nil {
		return fmt.Errorf("lock: %w", semel.ErrClosed)
	}
	return nil
}

// start runs f in the background unless the locker is closed.
func (l *Locker) start(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.running.Go(f)
	}
	return !l.closed
}

// patience returns the context of a caller's wait: as long as ctx and the locker last, and
// no longer than wait if that is positive.
func (l *Locker) patience(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.life, func() { cancel(semel.ErrClosed) })
	if wait <= 0 {
		return ctx, func() { stop(); cancel(nil) }
	}
	ctx, end := context.WithTimeoutCause(ctx, wait, ErrHeld)
	return ctx, func() { end(); stop(); cancel(nil) }
}

// heldError returns why a caller stopped waiting.
func heldError(patience context.Context) error {
	if cause := context.Cause(patience); !errors.Is(cause, ErrHeld) {
		return fmt.Errorf("%w: %w", ErrHeld, cause)
	}
	return ErrHeld
}

// queue waits for the caller's turn; with try it fails where another caller has
// it. The caller calls leave once its turn is over; further calls do nothing.
func (l *Locker) queue(patience context.Context, name string, try bool) (leave func(), err error) {
	turn := l.join(name)
	leave = sync.OnceFunc(func() { <-turn.taken; l.part(name, turn) })
	select {
	case turn.taken <- struct{}{}:
		return leave, nil
	default:
		err = ErrHeld
	}
	if !try {
		select {
		case turn.taken <- struct{}{}:
			return leave, nil
		case <-patience.Done():
			err = heldError(patience)
		}
	}
	l.part(name, turn)
	return nil, fmt.Errorf("lock: %w", err)
}

func (l *Locker) join(name string) *lockTurn {
	l.mu.Lock()
	defer l.mu.Unlock()
	turn := l.turns[name]
	if turn == nil {
		turn = &lockTurn{taken: make(chan struct{}, 1)}
		l.turns[name] = turn
	}
	turn.users++
	return turn
}

func (l *Locker) part(name string, turn *lockTurn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if turn.users--; turn.users == 0 {
		delete(l.turns, name)
	}
}

// newLock returns a lock that is not held yet.
func (l *Locker) newLock(ctx context.Context, name string, lease time.Duration, leave func()) *Lock {
	lock := &Lock{
		locker: l, name: name, lease: lease, leave: leave,
		kept: make(chan struct{}), unlocking: make(chan struct{}, 1),
	}
	rand.Read(lock.owner[:])
	lock.ctx, lock.cancel = context.WithCancelCause(ctx)
	return lock
}

// acquire asks the store once. When it won, the lock is being kept.
func (l *Lock) acquire(patience context.Context) (bool, error) {
	if err := patience.Err(); err != nil {
		return false, heldError(patience)
	}
	began := time.Now()
	fence, won, err := l.locker.store.Acquire(patience, l.name, l.owner, l.lease)
	if err != nil || !won {
		l.unheard = l.unheard || err != nil
		return false, err
	}
	trusted := transition.Trusted(l.lease) - time.Since(began)
	if trusted <= 0 {
		l.unheard = true
		return false, errors.New("the store took longer than the lease to answer: set a longer lease")
	}
	l.fence = fence
	l.trust = time.AfterFunc(trusted, func() { l.lose(errors.New("the lease could not be renewed in time")) })
	if !l.locker.start(func() { l.keep(began) }) {
		l.trust.Stop()
		l.unheard = true
		return false, semel.ErrClosed
	}
	return true, nil
}

// giveUp returns the error of a lock that is not wanted any more. A request
// whose reply was lost may have won it, and is undone in the background; where
// that fails too, the lease ends.
func (l *Lock) giveUp(ctx context.Context, err error) error {
	l.cancel(errUnlocked)
	undo := func() {
		defer l.leave()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
		defer cancel()
		defer context.AfterFunc(l.locker.life, cancel)()    //nolint:contextcheck // Close also ends it.
		_, _ = l.locker.store.Release(ctx, l.name, l.owner) // no caller is left to act on an error
	}
	if !l.unheard || !l.locker.start(undo) {
		l.leave()
	}
	return fmt.Errorf("lock: %w", err)
}

// check returns what the options say, or their defaults.
func (o *LockOptions) check(name string) (lease, wait time.Duration, err error) {
	if o == nil {
		o = &LockOptions{}
	}
	lease = cmp.Or(o.Lease, defaultLease)
	if err := checkLockName(name); err != nil {
		return 0, 0, fmt.Errorf("lock: %w", err)
	}
	if lease < minLease || lease > maxLease {
		return 0, 0, fmt.Errorf("dbguard: lock: the lease is %v, want %v to %v", lease, minLease, maxLease)
	}
	return lease, o.Wait, nil
}

// checkLockName accepts what every store can keep. The error does not repeat it.
func checkLockName(name string) error {
	if name == "" || len(name) > maxLockName {
		return fmt.Errorf("dbguard: the name has %d bytes, want 1 to %d: name long things by a digest", len(name), maxLockName)
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return errors.New("dbguard: the name holds a control character or is not valid UTF-8: name binary things by their hex digits")
	}
	return nil
}

// lockPersist calls f until it succeeds, a few times at most.
func lockPersist(ctx context.Context, f func() error) error {
	pauses := lockPauses
	pauses.Tries = maxLockErrors + 1
	return pauses.Do(ctx, func(error) bool { return true }, f)
}
