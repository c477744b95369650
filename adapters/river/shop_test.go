package semelriver_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/semel-dev/semel"
	semelriver "github.com/semel-dev/semel/adapters/river"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// charge is the job of all tests. Its effect is a row of table effect, with rows in the job's transaction or without.
type charge struct {
	Order string `json:"order"`
	Cents int    `json:"cents"`
	Rows  bool   `json:"rows"`
}

func (charge) Kind() string { return "charge" }

// shop is a database with River's tables, Semel's and the effects.
type shop struct {
	pool  *pgxpool.Pool
	guard *semel.Guard
	store *pgstore.Store
}

func openShop(ctx context.Context, dsn string) (*shop, error) {
	store, err := pgstore.Open(ctx, dsn, &pgstore.Options{MaxConns: 8})
	if err != nil {
		return nil, err
	}
	guard, err := semel.New(store, nil)
	return &shop{pool: store.Pool(), guard: guard, store: store}, err
}

func (s *shop) Close() error { return errors.Join(s.guard.Close(), s.store.Close()) }

func newShop(t *testing.T) (s *shop, dsn string) {
	t.Helper()
	dsn = testserver.PostgresDatabase(t)
	s, err := openShop(t.Context(), dsn)
	claimtest.NoError(t, err)
	claimtest.Closes(t, s)
	migrator, err := rivermigrate.New(riverpgxv5.New(s.pool), &rivermigrate.Config{Logger: quiet()})
	claimtest.NoError(t, err)
	_, err = migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	claimtest.NoError(t, err)
	_, err = s.pool.Exec(t.Context(), "CREATE TABLE effect (order_id text NOT NULL)")
	claimtest.NoError(t, err)
	return s, dsn
}

func (s *shop) jobs(t *testing.T, o *semelriver.Options) *semelriver.Jobs {
	t.Helper()
	jobs, err := semelriver.New(s.guard, o)
	claimtest.NoError(t, err)
	return jobs
}

// worker charges; between the effect and its end it waits for hold.
type worker struct {
	river.WorkerDefaults[charge]

	shop *shop
	jobs *semelriver.Jobs
	hold func(ctx context.Context, order string) error
	at   func(point string) // "before" the effect, and when it is "recorded" but River does not know

	outside, inside *within // of the middleware of the package
}

func (w *worker) reach(point string) {
	if w.at != nil {
		w.at(point)
	}
}

// told is a middleware around that of the package.
type told struct {
	river.MiddlewareDefaults

	worker *worker
}

func (m *told) Work(ctx context.Context, _ *rivertype.JobRow, doInner func(context.Context) error) error {
	err := doInner(ctx)
	m.worker.reach("recorded")
	return err
}

func (w *worker) Middleware(row *rivertype.JobRow) []rivertype.WorkerMiddleware {
	if strings.Contains(string(row.EncodedArgs), `"rows": true`) {
		return nil
	}
	if w.inside != nil {
		return []rivertype.WorkerMiddleware{w.outside, w.jobs, w.inside}
	}
	return []rivertype.WorkerMiddleware{&told{worker: w}, w.jobs}
}

func (w *worker) Work(ctx context.Context, job *river.Job[charge]) error {
	if job.Args.Rows {
		err := semelriver.WorkTx(ctx, w.jobs, job, func(ctx context.Context, tx pgx.Tx) error { return w.effect(ctx, tx, job) })
		w.reach("recorded")
		return err
	}
	return w.effect(ctx, w.shop.pool, job)
}

func (w *worker) effect(ctx context.Context, db execer, job *river.Job[charge]) error {
	w.reach("before")
	if _, err := db.Exec(ctx, "INSERT INTO effect VALUES ($1)", job.Args.Order); err != nil || w.hold == nil {
		return err
	}
	return w.hold(ctx, job.Args.Order)
}

// execer is a pool or a transaction.
type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// start works with a client of River's until the returned function stops it.
func (s *shop) start(t *testing.T, w *worker, change func(*river.Config)) (client *river.Client[pgx.Tx], events <-chan *river.Event, stop func()) {
	t.Helper()
	client, err := s.client(w, change)
	claimtest.NoError(t, err)
	events, unsubscribe := client.Subscribe(river.EventKindJobCompleted, river.EventKindJobCancelled, river.EventKindJobSnoozed, river.EventKindJobFailed)
	claimtest.NoError(t, client.Start(t.Context()))
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			unsubscribe()
			claimtest.NoError(t, client.Stop(context.WithoutCancel(t.Context())))
		}
	}
	t.Cleanup(stop)
	return client, events, stop
}

func (s *shop) client(w *worker, change func(*river.Config)) (*river.Client[pgx.Tx], error) {
	w.shop = s
	workers := river.NewWorkers()
	river.AddWorker(workers, w)
	config := &river.Config{
		Logger: quiet(), Workers: workers, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 4}},
		FetchCooldown: 10 * time.Millisecond, FetchPollInterval: 50 * time.Millisecond, RetryPolicy: atOnce{},
	}
	if change != nil {
		change(config)
	}
	return river.NewClient(riverpgxv5.New(s.pool), config)
}

// atOnce retries a job without a pause.
type atOnce struct{}

func (atOnce) NextRetry(*rivertype.JobRow) time.Time { return time.Now() }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// wantEvent waits for an event of this kind, whatever comes before it.
func wantEvent(t *testing.T, events <-chan *river.Event, kind river.EventKind) *rivertype.JobRow {
	t.Helper()
	patience := time.After(time.Minute)
	for {
		select {
		case e := <-events:
			if e.Kind == kind {
				return e.Job
			}
		case <-patience:
			t.Fatalf("no event %s", kind)
		}
	}
}

func (s *shop) wantEffects(t *testing.T, want int) {
	t.Helper()
	if got := s.count(t, "effect"); got != want {
		t.Errorf("got %d effects, want %d", got, want)
	}
}

func (s *shop) count(t *testing.T, table string) int {
	t.Helper()
	var n int
	claimtest.NoError(t, s.pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
	return n
}

// insert enqueues in a transaction of its own.
func (s *shop) insert(ctx context.Context, jobs *semelriver.Jobs, client *river.Client[pgx.Tx], key string, args river.JobArgs, o *river.InsertOpts) (id int64, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		id, err = jobs.InsertTx(ctx, client, tx, semel.Key{Scope: "alice", Name: key}, args, o)
		return err
	})
	return id, err
}
