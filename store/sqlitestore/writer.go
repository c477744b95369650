package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
	"github.com/semel-dev/semel/store/sqlitestore/internal/result"
	"github.com/semel-dev/semel/store/sqlitestore/internal/table"
)

const (
	// queueJobs bounds the steps that wait for the writer; further callers wait
	// for a place in the queue.
	queueJobs = 1024
	// batchJobs is the most steps that share one commit.
	batchJobs = 256
)

// The life of a job.
const (
	jobQueued int32 = iota
	jobStarted
	jobAbandoned
)

// job is one step on its way through the writer. Everything that run writes
// belongs to the writer until it sends on done.
type job struct {
	run   func(context.Context, *table.Step) error
	state atomic.Int32
	done  chan error // of length 1
}

// do has the writer run a step, and returns after its commit. When ctx ends
// before the step has started, it is not executed; when ctx ends later, it may
// have been, as with every error that wraps no sentinel.
func (s *Store) do(ctx context.Context, act string, _ semel.Digest, run func(context.Context, *table.Step) error) error {
	if err := s.gate.Enter(act, verb.Writes); err != nil {
		return err
	}
	defer s.gate.Leave()
	if ctx.Err() != nil {
		return fmt.Errorf("sqlitestore: %s: not executed: %w", act, ctx.Err())
	}
	j := &job{run: run, done: make(chan error, 1)}
	select {
	case s.queue <- j:
	case <-ctx.Done():
		return fmt.Errorf("sqlitestore: %s: not executed: %w", act, ctx.Err())
	}
	select {
	case err := <-j.done:
		return s.answer(act, err)
	case <-ctx.Done():
	}
	if j.state.CompareAndSwap(jobQueued, jobAbandoned) {
		return fmt.Errorf("sqlitestore: %s: not executed: %w", act, ctx.Err())
	}
	select {
	case err := <-j.done:
		return s.answer(act, err)
	default:
		return fmt.Errorf("sqlitestore: %s: was under way, it may have been executed: %w", act, ctx.Err())
	}
}

// answer returns the writer's error in the form for the caller.
func (s *Store) answer(act string, err error) error {
	if err == nil || result.IsAnswer(err) && !errors.Is(err, result.ErrScarce) {
		return err
	}
	return s.translate(act, err)
}

// write is the writer: it takes the steps that wait, runs them in one
// transaction, and answers after the commit. It never delays a step to fill a
// batch: a lone step is committed at once, and meanwhile the next batch
// gathers.
func (s *Store) write(ctx context.Context) {
	defer close(s.written)
	batch := make([]*job, 0, s.batch)
	for first := range s.queue {
		batch = s.gather(append(batch[:0], first))
		s.commit(ctx, batch)
		s.keepLogShort(ctx)
		clear(batch)
	}
}

// gather adds what waits in the queue. Callers that were just answered get
// one chance to come back.
func (s *Store) gather(batch []*job) []*job {
	for yielded := false; len(batch) < s.batch; {
		select {
		case j, ok := <-s.queue:
			if !ok {
				return batch
			}
			batch = append(batch, j)
			yielded = false
		default:
			if yielded {
				return batch
			}
			runtime.Gosched()
			yielded = true
		}
	}
	return batch
}

// commit runs the steps of a batch, in their order, in one transaction. A step
// that fails on its own (its outcome does not fit, say) must not fail the
// others, so the batch is then undone and each step gets its own transaction.
func (s *Store) commit(ctx context.Context, batch []*job) {
	answers := make([]error, len(batch))
	stepFailed, err := false, gone(s.places)
	if err == nil {
		s.tx.Scarce = s.ballast.scarce(ctx)
		stepFailed, err = s.tx.runJobs(ctx, batch, answers)
	}
	if err != nil && !s.tx.Scarce && s.full(ctx, err) && s.ballast.release(ctx) {
		s.tx.Scarce = true
		s.keepLogShort(ctx)
		stepFailed, err = s.tx.runJobs(ctx, batch, answers)
	}
	switch {
	case err == nil:
	case stepFailed && len(batch) > 1:
		for i := range batch {
			if _, err := s.tx.runJobs(ctx, batch[i:i+1], answers[i:i+1]); err != nil {
				answers[i] = err
			}
		}
	default:
		for i := range answers {
			answers[i] = err
		}
	}
	for i, j := range batch {
		j.done <- answers[i]
	}
}

// keepLogShort has the write-ahead log copied into the file, by the
// checkpointer for the most part. The callers have their answers already. On the
// ballast the writer does it, if it can come to its end.
func (s *Store) keepLogShort(ctx context.Context) {
	if s.tx.Scarce {
		if free, known := freeBytes(s.path); known && s.checkpointFits(ctx, free) {
			_, _, _ = checkpoint(ctx, s.tx.conn) // the log keeps what the file lacks
		}
		return
	}
	s.copier.wrote(s.tx.Pages)
	s.tx.Pages = 0
	if s.copier.ask.CompareAndSwap(true, false) {
		_, _, err := checkpoint(ctx, s.tx.conn)
		if err != nil {
			s.log.LogAttrs(ctx, slog.LevelWarn, "the write-ahead log could not be copied into the file",
				slog.Any("error", s.translate("checkpoint", err)))
		}
	}
}

// start reports whether the step is to be run: it has been started before,
// or its caller still waits for it.
func (j *job) start() bool {
	return j.state.Load() == jobStarted || j.state.CompareAndSwap(jobQueued, jobStarted)
}
