package pgstore

import (
	"context"
	"errors"
	"time"

	"github.com/semel-dev/semel"
)

var (
	errPooler   = errors.New("a pooler in front of the server passes no notifications on (callers poll; or name the server itself)")
	errNoNotify = errors.New("CockroachDB tells nothing (callers poll)")
)

// Await implements [semel.Notifier], by LISTEN and NOTIFY. The first call opens
// one connection outside of the pool, for all calls. A claim that is awaited is
// marked once, so that only settlements that a caller waits for are notified:
// notifying makes commits queue.
//
// It cannot tell, and says so at once, behind a pooler such as PgBouncer.
func (s *Store) Await(ctx context.Context, d semel.Digest) error {
	return s.write(ctx, "await", func() error {
		if s.plain {
			return errNoNotify
		}
		return s.await(ctx, d)
	})
}

func (s *Store) await(ctx context.Context, d semel.Digest) error {
	w, err := s.listener.join(ctx, s, d)
	if err != nil {
		return err
	}
	defer s.listener.leave(d, w)
	for {
		left, err := s.mark(ctx, d)
		if err != nil || left == 0 {
			return err
		}
		timer := time.NewTimer(left) // then it has lapsed, or was renewed
		select {
		case <-w.told:
			timer.Stop()
			return w.err
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-s.life.Done():
			timer.Stop()
			return semel.ErrClosed
		case <-timer.C:
		}
	}
}

// mark returns how long the lease still lasts, and marks the claim as waited for;
// 0 without a live claim.
func (s *Store) mark(ctx context.Context, d semel.Digest) (left time.Duration, err error) {
	var ms int64
	var marked bool
	err = s.pool.QueryRow(ctx, s.sql["await"], d[:]).Scan(&ms, &marked)
	switch {
	case noRow(err):
		return 0, nil
	case err == nil && !marked:
		return 0, errOvertaken
	}
	return time.Duration(ms) * time.Millisecond, err
}
