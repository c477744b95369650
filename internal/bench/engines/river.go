package main

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/semel-dev/semel/internal/bench/order"
)

const maxWorkers = 100

// riverSettings are those of a client; what is zero is River's default.
type riverSettings struct {
	queue          string
	cooldown, poll time.Duration
	rescueAfter    time.Duration
	jobTimeout     time.Duration
}

func riverDefaults() riverSettings { return riverSettings{queue: river.QueueDefault} }

// orderArgs ask for the order in one job of resumable steps.
type orderArgs struct {
	Order int64 `json:"order"`
}

// Kind names the job.
func (orderArgs) Kind() string { return "order" }

// stepArgs ask for one step of an order; the job of each step inserts the next one.
type stepArgs struct {
	Order int64 `json:"order"`
	Step  int   `json:"step"`
}

// Kind names the job.
func (stepArgs) Kind() string { return "step" }

// queue is a River client with its workers.
type queue struct {
	d       *order.Database
	name    string
	client  *river.Client[pgx.Tx]
	mu      sync.Mutex
	waiting map[int64]chan error // by order
}

// startRiver migrates the schema, and begins to work the queue.
func startRiver(ctx context.Context, d *order.Database, s riverSettings) (*queue, error) {
	q := &queue{d: d, name: s.queue, waiting: map[int64]chan error{}}
	driver := riverpgxv5.New(d.Pool)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Schema: d.Schema, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(q.workOrder))
	river.AddWorker(workers, river.WorkFunc(q.workStep))
	q.client, err = river.NewClient(driver, &river.Config{
		Schema: d.Schema, Logger: slog.New(slog.DiscardHandler), Workers: workers, SkipUnknownJobCheck: true,
		Queues:        map[string]river.QueueConfig{s.queue: {MaxWorkers: maxWorkers}},
		FetchCooldown: s.cooldown, FetchPollInterval: s.poll, RescueStuckJobsAfter: s.rescueAfter, JobTimeout: s.jobTimeout,
	})
	if err != nil {
		return nil, err
	}
	return q, q.client.Start(ctx)
}

func (q *queue) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = q.client.StopAndCancel(ctx) // only measured
}

// resumable does the steps in one job, each in a transaction that records it.
func (q *queue) resumable(ctx context.Context) error {
	n := q.d.Next()
	return q.wait(ctx, n, orderArgs{n})
}

// chain does each step in a job of its own, whose transaction completes it and
// inserts the next one.
func (q *queue) chain(ctx context.Context) error {
	n := q.d.Next()
	return q.wait(ctx, n, stepArgs{n, 0})
}

func (q *queue) wait(ctx context.Context, n int64, args river.JobArgs) error {
	done := make(chan error, 1)
	q.mu.Lock()
	q.waiting[n] = done
	q.mu.Unlock()
	if _, err := q.client.Insert(ctx, args, q.opts()); err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (q *queue) opts() *river.InsertOpts { return &river.InsertOpts{Queue: q.name} }

// finished wakes the caller of an order.
func (q *queue) finished(n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if done, ok := q.waiting[n]; ok {
		done <- nil
		delete(q.waiting, n)
	}
}

func (q *queue) workOrder(ctx context.Context, job *river.Job[orderArgs]) error {
	for i := range order.Steps {
		river.ResumableStep(ctx, strconv.Itoa(i), nil, func(ctx context.Context) error {
			err := pgx.BeginFunc(ctx, q.d.Pool, func(tx pgx.Tx) error {
				if _, err := q.d.Insert(ctx, tx, i); err != nil {
					return err
				}
				_, err := river.ResumableSetStepTx[*riverpgxv5.Driver](ctx, tx, job)
				return err
			})
			if err == nil && i == order.Steps-1 {
				q.finished(job.Args.Order)
			}
			return err
		})
	}
	return nil
}

func (q *queue) workStep(ctx context.Context, job *river.Job[stepArgs]) error {
	err := pgx.BeginFunc(ctx, q.d.Pool, func(tx pgx.Tx) error {
		if _, err := q.d.Insert(ctx, tx, job.Args.Step); err != nil {
			return err
		}
		if next := job.Args.Step + 1; next < order.Steps {
			if _, err := q.client.InsertTx(ctx, tx, stepArgs{job.Args.Order, next}, q.opts()); err != nil {
				return err
			}
		}
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
	if err == nil && job.Args.Step == order.Steps-1 {
		q.finished(job.Args.Order)
	}
	return err
}
