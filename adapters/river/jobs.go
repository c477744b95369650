package semelriver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/job"
	"github.com/semel-dev/semel/store/pgstore"
)

// Options are the settings of [New]. A nil *Options is complete.
type Options struct {
	// Policy applies to jobs instead of the guard's. Zero fields have their usual defaults, but Retention is 30 days, and an attempt
	// whose twin runs is snoozed instead of waiting. Retention has to be longer than River retries a job and keeps its row.
	// MaxRun (15 minutes) has to be longer than the longest JobTimeout. With OnUnknown: Reconcile, a job that may have happened is
	// looked up instead of cancelled.
	Policy semel.Policy
	// Key names the work of a job: jobs of one kind and name happen once together, and their arguments must be the same. Nil for
	// the job's id: each job happens once. Jobs for which it returns "" pass the middleware unprotected, as those have to that
	// call [WorkTx].
	Key func(*rivertype.JobRow) string
	// Logger gets work that happened and could not be recorded. Default slog.Default().
	Logger *slog.Logger
}

// Jobs makes jobs happen once. It is a rivertype.WorkerMiddleware, for Config.Middleware or the Middleware method of a worker.
// It is safe for concurrent use. Make one with [New].
type Jobs struct {
	river.MiddlewareDefaults

	guard   *semel.Guard
	patient *semel.Guard // an insertion waits for its twin
	key     func(*rivertype.JobRow) string
	logger  *slog.Logger
}

var _ rivertype.WorkerMiddleware = (*Jobs)(nil)

// New returns the jobs of a guard. [Jobs.InsertTx] and [WorkTx] need a guard whose store is a pgstore.Store in the database of
// River's tables; the middleware takes any. o may be nil.
func New(g *semel.Guard, o *Options) (*Jobs, error) {
	o = cmp.Or(o, &Options{})
	view, err := job.Guard(g, o.Policy)
	if err != nil {
		return nil, fmt.Errorf("semelriver: %w", err)
	}
	p := view.Policy()
	p.Wait = max(o.Policy.Wait, 0)
	patient, err := g.With(p)
	if err != nil {
		return nil, fmt.Errorf("semelriver: %w", err)
	}
	j := &Jobs{guard: view, patient: patient, key: o.Key, logger: cmp.Or(o.Logger, slog.Default())}
	if j.key == nil {
		j.key = keyOfRow
	}
	return j, nil
}

// keyOfRow names a row of River's table. The time tells it from a later row with its id, after the table was emptied, and from a row of
// another database.
func keyOfRow(row *rivertype.JobRow) string {
	return fmt.Sprintf("%d@%s", row.ID, row.CreatedAt.UTC().Format(time.RFC3339Nano))
}

// InsertTx enqueues a job once for the key, in the caller's transaction, and returns its id. A later call with the key and the same
// arguments returns that id and enqueues nothing, for as long as [Options.Policy] remembers it, even after River has removed the
// job; with other arguments or another kind the error wraps [semel.ErrMismatch]. opts, which may be nil, is not compared.
//
// A twin waits until the caller's transaction has ended. After an error the transaction is open, as it was before the call.
// UniqueOpts of the job are an error when they skip it: they would join it with one of another key.
func (j *Jobs) InsertTx(
	ctx context.Context, client *river.Client[pgx.Tx], tx pgx.Tx, key semel.Key, args river.JobArgs, opts *river.InsertOpts,
) (int64, error) {
	fp, err := fingerprintOf(args)
	if err != nil {
		return 0, err
	}
	return pgstore.Join(ctx, j.patient, pgstore.Pgx(tx), key, fp, func(ctx context.Context) (int64, error) {
		inserted, err := client.InsertTx(ctx, tx, args, opts)
		if err != nil {
			return 0, fmt.Errorf("semelriver: insert the job: %w", err)
		}
		if inserted.UniqueSkippedAsDuplicate {
			return 0, fmt.Errorf("semelriver: UniqueOpts of %s skipped the job in favour of job %d (leave them out: the key makes it once)",
				args.Kind(), inserted.Job.ID)
		}
		return inserted.Job.ID, nil
	})
}

// Work is the middleware: it claims the job, runs the worker under the claim's heartbeat, and records that it happened. List it after
// middlewares that recover panics or retry. The worker's context ends with the claim. The worker's error decides as in [semel.Do]: plain
// errors and snoozes say that nothing happened (or what Policy.UnknownOnError says), a panic, a time-out or a cancelled context that it
// is unknown; [semel.MarkReleased], [semel.MarkUnknown] and [semel.MarkFinal] say it explicitly. After MarkFinal the job is cancelled.
func (j *Jobs) Work(ctx context.Context, row *rivertype.JobRow, doInner func(context.Context) error) error {
	name := j.key(row)
	if name == "" {
		return doInner(job.With(ctx, keyOf(row, keyOfRow(row))))
	}
	return j.workJob(ctx, semel.Do[struct{}], row, name, func(ctx context.Context) error {
		err := doInner(ctx)
		if _, snoozed := errors.AsType[*river.JobSnoozeError](err); snoozed {
			err = semel.MarkReleased(err)
		}
		return err
	})
}

// WorkTx is the body of a worker whose effect is rows in the database of River and of the guard's store: fn's rows, Semel's
// record and the completion of the job commit together. A crash at any instant leaves all or nothing, so that River's next
// attempt either runs fn or finds the job completed; nothing is ever unknown. fn works in tx, leaves Commit and Rollback alone,
// and may run several times, as in pgstore.Do.
//
// Use it without the middleware, or with [Options.Key] returning "" for the kind.
func WorkTx[T river.JobArgs](ctx context.Context, j *Jobs, job *river.Job[T], fn func(ctx context.Context, tx pgx.Tx) error) error {
	name := j.key(job.JobRow)
	if name == "" {
		name = keyOfRow(job.JobRow)
	}
	if claim := semel.ClaimFrom(ctx); claim != nil && claim.Digest() == j.guard.Digest(keyOf(job.JobRow, name)) {
		return errors.New("semelriver: WorkTx runs inside of the middleware, which claimed the job (let Options.Key return \"\" for its kind)")
	}
	return j.workJob(ctx, pgstoreDo, job.JobRow, name, func(ctx context.Context) error {
		tx := pgstore.TxFrom(ctx)
		if err := fn(ctx, tx); err != nil {
			return err
		}
		if _, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job); err != nil {
			return fmt.Errorf("semelriver: complete job %d: %w", job.ID, err)
		}
		return nil
	})
}

// pgstoreDo is pgstore.Do with the transaction in the context alone.
func pgstoreDo(
	ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint, work func(context.Context) (struct{}, error),
) (struct{}, error) {
	return pgstore.Do(ctx, g, k, fp, func(ctx context.Context, _ pgx.Tx) (struct{}, error) { return work(ctx) })
}

// workJob works a job and turns the verdict into what River understands.
func (j *Jobs) workJob(ctx context.Context, do job.Do, row *rivertype.JobRow, name string, work func(context.Context) error) error {
	v := job.Run(ctx, do, j.guard, keyOf(row, name), semel.FingerprintOf([]byte(row.Kind), row.EncodedArgs), work)
	switch v.Act {
	case job.Done:
		if v.Err != nil {
			j.logger.ErrorContext(ctx, "semelriver: the job was done, but it could not be recorded",
				slog.Int64("job", row.ID), slog.String("kind", row.Kind), slog.Any("error", v.Err))
		}
		return nil
	case job.Again:
		return river.JobSnooze(v.After)
	case job.Never:
		return river.JobCancel(v.Err)
	case job.Fail:
	}
	return v.Err
}

// keyOf returns the key of the work of a job.
func keyOf(row *rivertype.JobRow, name string) semel.Key { return job.Key("river", name, row.Kind) }

// KeyFor returns the key of the job under whose context a worker works, for a service that deduplicates: the same in every attempt,
// whatever the guard's secrets are, and another for every other job. For jobs that [Options.Key] leaves unprotected it is made of the
// row's id and time. It is empty outside of [Jobs.Work] and [WorkTx].
func KeyFor(ctx context.Context) string { return job.KeyFor(ctx) }
