package pgstore

import (
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
)

const (
	// silence limits how long nothing may be heard before the connection is tried,
	// and how long that may take.
	silence = 30 * time.Second
	// connectTimeout bounds how long waiters wait until something is heard.
	connectTimeout = 10 * time.Second
)

// listener is the connection on which a store hears of settlements, opened when
// a caller first waits, and again after it broke.
type listener struct {
	retryAfter time.Duration // how long nothing tries again after it failed

	mu      sync.Mutex // guards the fields below
	waiting map[semel.Digest]*waiters
	ready   chan struct{} // of the present connection; closed when it listens or failed
	err     error         // why it does not listen
	failed  time.Time
}

// waiters are the callers that wait for one record.
type waiters struct {
	n    int
	told chan struct{}
	err  error // why nothing will be told any more; set before told is closed
}

// join takes a seat, and returns when settlements are heard. Every success
// needs a leave.
func (l *listener) join(ctx context.Context, s *Store, d semel.Digest) (*waiters, error) {
	ready, err := l.listen(s)
	if err != nil {
		return nil, err
	}
	select {
	case <-ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.life.Done():
		return nil, semel.ErrClosed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return nil, l.err
	}
	r := l.waiting[d]
	if r == nil {
		r = &waiters{told: make(chan struct{})}
		l.waiting[d] = r
	}
	r.n++
	return r, nil
}

func (l *listener) leave(d semel.Digest, r *waiters) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.n--; r.n == 0 && l.waiting[d] == r {
		delete(l.waiting, d)
	}
}

// listen starts to, unless it does already or has just failed.
func (l *listener) listen(s *Store) (ready <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.err != nil && time.Since(l.failed) < l.retryAfter:
		return nil, l.err
	case l.ready == nil || l.err != nil:
		l.ready, l.err, l.waiting = make(chan struct{}), nil, map[semel.Digest]*waiters{}
		s.background.Go(func() { l.hear(s, l.ready) })
	}
	return l.ready, nil
}

// hear listens until the store is closed or the connection breaks, and wakes
// the waiters.
func (l *listener) hear(s *Store, ready chan struct{}) {
	listening := sync.OnceFunc(func() { close(ready) })
	defer listening()
	err := s.listen(s.life, listening, l.wake)
	if s.life.Err() != nil {
		err = semel.ErrClosed
	} else {
		s.log.LogAttrs(s.life, slog.LevelWarn, "settlements by other processes are not heard of; callers poll", slog.Any("error", err))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err, l.failed = err, time.Now()
	for _, r := range l.waiting {
		r.err = err
		close(r.told)
	}
	l.waiting = nil
}

// wake wakes every caller that waits for the digest; a later one gets new
// waiters.
func (l *listener) wake(payload string) {
	var d semel.Digest
	if n, err := hex.Decode(d[:], []byte(payload)); err != nil || n != len(d) {
		return // not ours
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.waiting[d]; r != nil {
		close(r.told)
		delete(l.waiting, d)
	}
}

// listen opens the connection, says when it listens, and hands on what it
// hears. It returns when the connection breaks or ctx ends.
func (s *Store) listen(ctx context.Context, listening func(), heard func(payload string)) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it is thrown away.
	listening()
	for {
		told, err := waitForNotification(ctx, conn)
		if err != nil {
			return err
		}
		if told != "" {
			heard(told)
		}
	}
}

// connect opens a connection outside of the pool, as the pool does, and listens. A
// pooler would share it with others, so that it heard their notifications; the
// process that answers is then not the one that was greeted.
func (s *Store) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	config := s.pool.Config()
	if config.BeforeConnect != nil {
		if err := config.BeforeConnect(ctx, config.ConnConfig); err != nil {
			return nil, err
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return nil, err
	}
	var pid uint32
	err = conn.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeExec).Scan(&pid)
	if err == nil && pid != conn.PgConn().PID() {
		err = errPooler
	}
	if err == nil {
		_, err = conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel(s.schema)}.Sanitize(), pgx.QueryExecModeExec)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

// waitForNotification returns "" when the connection was silent, but lives.
func waitForNotification(ctx context.Context, conn *pgx.Conn) (payload string, err error) {
	short, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	told, err := conn.WaitForNotification(short)
	switch {
	case err == nil:
		return told.Payload, nil
	case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
		return "", err
	}
	short, cancel = context.WithTimeout(ctx, silence)
	defer cancel()
	return "", conn.Ping(short)
}
