package redisguard

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
)

const (
	defaultPrefix = "semel"
	// lockKeep is how long a key outlives its lease, so that a clock that is set
	// back by less gives no fence twice.
	lockKeep = 24 * time.Hour
)

var _ dbguard.LockStore = (*Locks)(nil)

// Locks keeps locks for a [dbguard.Locker]. It is safe for concurrent use. Its
// keys are prefix:lock:name, and go a day after their lease has ended. The user
// of the server needs EVAL, EVALSHA, TIME, HMGET, HSET and PEXPIRE on them.
type Locks struct {
	client                  rueidis.Client
	prefix                  string
	acquire, renew, release *rueidis.Lua
}

// LocksOptions adjust [Locks]. Nil is complete.
type LocksOptions struct {
	// Prefix begins every key. Default: semel.
	Prefix string
}

// NewLocks keeps locks by this client, which the caller closes after the
// locker.
func NewLocks(client rueidis.Client, o *LocksOptions) *Locks {
	l := &Locks{client: client, prefix: defaultPrefix}
	if o != nil && o.Prefix != "" {
		l.prefix = o.Prefix
	}
	l.acquire, l.renew, l.release = script("lock_acquire"), script("lock_renew"), script("lock_release")
	return l
}

// Acquire implements [dbguard.LockStore].
func (l *Locks) Acquire(ctx context.Context, name string, owner semel.Owner, lease time.Duration) (semel.Fence, bool, error) {
	fence, err := l.run(ctx, l.acquire, name, owner, lease)
	return semel.Fence(fence), fence != 0, err //nolint:gosec // a time, not negative.
}

// Renew implements [dbguard.LockStore].
func (l *Locks) Renew(ctx context.Context, name string, owner semel.Owner, lease time.Duration) (bool, error) {
	held, err := l.run(ctx, l.renew, name, owner, lease)
	return held != 0, err
}

// Release implements [dbguard.LockStore].
func (l *Locks) Release(ctx context.Context, name string, owner semel.Owner) (bool, error) {
	held, err := l.run(ctx, l.release, name, owner, 0)
	return held != 0, err
}

func (l *Locks) run(ctx context.Context, verb *rueidis.Lua, name string, owner semel.Owner, lease time.Duration) (int64, error) {
	n, err := verb.Exec(ctx, l.client, []string{l.prefix + ":lock:" + name}, []string{
		string(owner[:]),
		strconv.FormatInt(lease.Microseconds(), 10),
		strconv.FormatInt((lease + lockKeep).Milliseconds(), 10),
	}).AsInt64()
	if err != nil {
		return 0, fmt.Errorf("redisguard: lock: %w", err)
	}
	return n, nil
}
