package pgstore

import (
	"context"
	"errors"
	"time"

	"github.com/semel-dev/semel"
)

var (
	errPooler = errors.New("a pooler stands before the server, through which nothing is told (callers poll; or name the server itself)")
	errMute   = errors.New("CockroachDB tells nothing (callers poll)")
)

// Await implements [semel.Notifier], by LISTEN and NOTIFY. The first call opens
// one connection beside the pool, for all calls. A claim that is awaited is
// marked once, so that only settlements for which somebody waits are told:
// telling makes commits queue.
//
// It cannot tell, and says so at once, behind a pooler such as PgBouncer.
func (s *Store) Await(ctx context.Context, d semel.Digest) error {
	return s.write(ctx, "await", func() error {
		if s.mute {
			return errMute
		}
		return s.await(ctx, d)
	})
}

func (s *Store) await(ctx context.Context, d semel.Digest) error {
	room, err := s.ear.join(ctx, s, d)
	if err != nil {
		return err
	}
	defer s.ear.leave(d, room)
	for {
		left, err := s.mark(ctx, d)
		if err != nil || left == 0 {
			return err
		}
		timer := time.NewTimer(left) // then it has lapsed, or was renewed
		select {
		case <-room.told:
			timer.Stop()
			return room.err
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

// mark says how long the lease still lasts, and that somebody waits; 0 when
// there is no live claim.
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
