package redisguard

import (
	"cmp"
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
	// lockKeep is the time a key outlives its lease, so that a clock set back by
	// less issues no fence twice.
	lockKeep = 24 * time.Hour
)

var _ dbguard.LockStore = (*locks)(nil)

type locks struct {
	client                  rueidis.Client
	prefix                  string
	acquire, renew, release *rueidis.Lua
}

// NewLocks keeps the locks of a [dbguard.Locker] in Redis. The caller closes the
// client after the locker. The store is safe for concurrent use. Its keys are
// prefix:lock:name (prefix is semel where it is empty), and expire a day after
// their lease. The user of the server needs EVAL, EVALSHA, TIME, HMGET, HSET and
// PEXPIRE on them.
func NewLocks(client rueidis.Client, prefix string) dbguard.LockStore {
	l := &locks{client: client, prefix: cmp.Or(prefix, defaultPrefix)}
	l.acquire, l.renew, l.release = script("lock_acquire"), script("lock_renew"), script("lock_release")
	return l
}

// Acquire implements [dbguard.LockStore].
func (l *locks) Acquire(ctx context.Context, name string, owner semel.Owner, lease time.Duration) (semel.Fence, bool, error) {
	fence, err := l.run(ctx, l.acquire, name, owner, lease)
	return semel.Fence(fence), fence != 0, err //nolint:gosec // a time, not negative.
}

// Renew implements [dbguard.LockStore].
func (l *locks) Renew(ctx context.Context, name string, owner semel.Owner, lease time.Duration) (bool, error) {
	held, err := l.run(ctx, l.renew, name, owner, lease)
	return held != 0, err
}

// Release implements [dbguard.LockStore].
func (l *locks) Release(ctx context.Context, name string, owner semel.Owner) (bool, error) {
	held, err := l.run(ctx, l.release, name, owner, 0)
	return held != 0, err
}

func (l *locks) run(ctx context.Context, verb *rueidis.Lua, name string, owner semel.Owner, lease time.Duration) (int64, error) {
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
