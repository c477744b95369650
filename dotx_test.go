package semel_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/memdb"
)

var (
	errConflict         = fmt.Errorf("insert: %w", memdb.ErrConflict)
	errConflictAtCommit = fmt.Errorf("%w: %w", semel.ErrRolledBack, memdb.ErrConflict)
)

// doTx inserts a row, and returns the number of the execution with what fail
// says of it.
func doTx(ctx context.Context, t *testing.T, g *semel.Guard, db *memdb.DB, fail func(context.Context, int) error) (got, executed int, err error) {
	t.Helper()
	got, err = semel.DoTx(ctx, g, db, testKey("a"), testFingerprint(), func(ctx context.Context) (int, error) {
		executed++
		if err := db.Insert(ctx, "a"); err != nil {
			return 0, err
		}
		return executed, fail(ctx, executed)
	})
	return got, executed, err
}

// Promise 8: work that the database undoes is run again, but not for ever.
func TestDoTxRunsAgainAfterConflicts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		conflicts int
		commit    error // what fails then
		want      error
		executed  int
	}{
		"once":                  {conflicts: 1, executed: 2},
		"seven times":           {conflicts: 7, executed: 8},
		"always":                {conflicts: 100, want: memdb.ErrConflict, executed: 8},
		"commit once":           {conflicts: 1, commit: errConflictAtCommit, executed: 2},
		"commit always":         {conflicts: 100, commit: errConflictAtCommit, want: semel.ErrRolledBack, executed: 8},
		"commit refused":        {conflicts: 100, commit: semel.ErrRolledBack, want: semel.ErrRolledBack, executed: 1},
		"commit's reply, once":  {conflicts: 1, commit: errBroken, executed: 2},
		"commit's reply, twice": {conflicts: 2, commit: errBroken, executed: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, f, g := openTx(t, memdb.Options{}, nil)
				work := times(tt.conflicts, errConflict)
				if tt.commit != nil {
					f.set(memdb.Commit, times(tt.conflicts, tt.commit))
					work = func() error { return nil }
				}
				got, executed, err := doTx(t.Context(), t, g, db, func(context.Context, int) error { return work() })
				if !errors.Is(err, tt.want) || executed != tt.executed {
					t.Errorf("got %v after %d executions, want %v after %d", err, executed, tt.want, tt.executed)
				}
				want, rows := executed, 1
				if tt.want != nil {
					want, rows = 0, 0
				}
				if tt.commit == nil && tt.want != nil {
					want = executed // what the work returned along with its error
				}
				if got != want || db.Count("a") != rows {
					t.Errorf("got %d and %d rows, want %d and %d", got, db.Count("a"), want, rows)
				}
			})
		})
	}
}

// Promise 3: what the work says of its error goes before what the database
// says of it: unknown must not be executed again.
func TestDoTxKeepsWhatWasMarked(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		mark   func(error) error
		policy semel.Policy
		want   int // executions
		after  error
	}{
		"unknown":            {mark: semel.MarkUnknown, want: 1, after: semel.ErrUnknown},
		"final":              {mark: semel.MarkFinal, want: 1, after: &semel.FinalError{Message: errConflict.Error()}},
		"released":           {mark: semel.MarkReleased, want: 8},
		"not marked":         {mark: func(err error) error { return err }, policy: semel.Policy{UnknownOnError: true}, want: 8},
		"no conflict":        {mark: func(error) error { return errBroken }, want: 1},
		"unknown by policy":  {mark: func(error) error { return errBroken }, policy: semel.Policy{UnknownOnError: true}, want: 1, after: semel.ErrUnknown},
		"released by a mark": {mark: func(error) error { return semel.MarkReleased(errBroken) }, policy: semel.Policy{UnknownOnError: true}, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, _, g := openTx(t, memdb.Options{}, &semel.Options{Policy: tt.policy})
				_, executed, err := doTx(t.Context(), t, g, db, func(context.Context, int) error { return tt.mark(errConflict) })
				if executed != tt.want || !errors.Is(err, memdb.ErrConflict) && !errors.Is(err, errBroken) {
					t.Errorf("got %v after %d executions, want the work's error after %d", err, executed, tt.want)
				}
				_, executed, err = doTx(t.Context(), t, g, db, func(context.Context, int) error { return nil })
				final, isFinal := errors.AsType[*semel.FinalError](tt.after)
				got, gotFinal := errors.AsType[*semel.FinalError](err)
				switch {
				case isFinal && (!gotFinal || *got != *final):
					t.Errorf("afterwards: got %v, want %v", err, tt.after)
				case !isFinal && !errors.Is(err, tt.after):
					t.Errorf("afterwards: got %v, want %v", err, tt.after)
				case (executed == 0) != (tt.after != nil):
					t.Errorf("afterwards: executed %d times with %v", executed, err)
				}
			})
		})
	}
}

// A caller that went away, or work that had its time, is not served again.
func TestDoTxStopsInTime(t *testing.T) {
	t.Parallel()
	t.Run("caller", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			db, _, g := openTx(t, memdb.Options{}, nil)
			ctx, cancel := context.WithCancel(t.Context())
			_, executed, err := doTx(ctx, t, g, db, func(context.Context, int) error {
				cancel()
				return errConflict
			})
			if executed != 1 || !errors.Is(err, memdb.ErrConflict) {
				t.Errorf("got %v after %d executions, want the conflict after 1", err, executed)
			}
		})
	})
	t.Run("caller, at the commit", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			db, _, g := openTx(t, memdb.Options{}, nil)
			ctx, cancel := context.WithCancel(t.Context())
			got, executed, err := doTx(ctx, t, g, db, func(context.Context, int) error {
				cancel()
				return nil
			})
			if got != 0 || executed != 1 || !errors.Is(err, semel.ErrRolledBack) || !errors.Is(err, context.Canceled) || db.Count("a") != 0 {
				t.Errorf("got %d, %v after %d executions, %d rows; want nothing", got, err, executed, db.Count("a"))
			}
		})
	})
	for name, end := range map[string]error{"max run": nil, "max run and a conflict": errConflict} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, _, g := openTx(t, memdb.Options{}, &semel.Options{Policy: semel.Policy{MaxRun: time.Minute}})
				_, executed, err := doTx(t.Context(), t, g, db, func(ctx context.Context, _ int) error {
					<-ctx.Done()
					return end
				})
				if executed != 1 || err == nil || db.Count("a") != 0 {
					t.Errorf("got %v after %d executions, %d rows; want an error after 1, no row", err, executed, db.Count("a"))
				}
			})
		})
	}
}

// Promise 2: where another attempt answered first, its answer counts.
func TestDoTxGivesTheOthersAnswer(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]error{"result": nil, "final": semel.MarkFinal(errBroken)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, _, g := openTx(t, memdb.Options{Optimistic: true}, nil)
				other := newTxGuard(t, db, nil)
				got, executed, err := doTx(t.Context(), t, g, db, func(context.Context, int) error {
					_, err := semel.Do(t.Context(), other, testKey("a"), testFingerprint(), //nolint:contextcheck // another caller's.
						func(context.Context) (int, error) { return 42, nil })
					return errors.Join(err, end)
				})
				if got != 42 || executed != 1 || err != nil || db.Count("a") != 0 {
					t.Errorf("got %d, %v after %d executions, %d rows; want the other's 42", got, err, executed, db.Count("a"))
				}
			})
		})
	}
}

// A result that cannot be kept is not returned: a replay could not repeat it.
func TestDoTxWithAResultThatCannotBeKept(t *testing.T) {
	t.Parallel()
	db, _, g := openTx(t, memdb.Options{}, nil)
	got, err := semel.DoTx(t.Context(), g, db, testKey("a"), testFingerprint(), func(ctx context.Context) (func(), error) {
		return func() {}, db.Insert(ctx, "a")
	})
	if err == nil || got != nil || db.Count("a") != 0 {
		t.Errorf("got %v, %d rows; want an error and none", err, db.Count("a"))
	}
}

// Promise 4: an error whose own methods panic rolls back, and the transaction ends with the call.
func TestDoTxWithAnErrorThatPanics(t *testing.T) {
	t.Parallel()
	for name, failure := range hollows() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, _, g := openTx(t, memdb.Options{}, &semel.Options{Policy: semel.Policy{Wait: semel.NoWait}})
			panics(t, func() {
				_, _, _ = doTx(t.Context(), t, g, db, func(context.Context, int) error { return failure })
			})
			if n := db.Count("a"); n != 0 {
				t.Errorf("%d rows, want none", n)
			}
			if _, _, err := doTx(t.Context(), t, g, db, func(context.Context, int) error { return nil }); err != nil {
				t.Errorf("afterwards: got %v, want an execution", err)
			}
		})
	}
}

// Promise 4: work that does not return rolls back, and is unknown where the
// policy says so (promise 3).
func TestDoTxOfWorkThatDoesNotReturn(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(){"panic": func() { panic("lost") }, "goexit": runtime.Goexit} {
		for policy, want := range map[bool]error{false: nil, true: semel.ErrUnknown} {
			t.Run(fmt.Sprint(name, policy), func(t *testing.T) {
				t.Parallel()
				db, _, g := openTx(t, memdb.Options{}, &semel.Options{Policy: semel.Policy{UnknownOnError: policy}})
				var wg sync.WaitGroup
				wg.Go(func() {
					defer func() {
						if p := recover(); name == "panic" && p != "lost" {
							t.Errorf("the panic did not go on: %v", p)
						}
					}()
					_, _, err := doTx(t.Context(), t, g, db, func(context.Context, int) error { leave(); return nil })
					t.Errorf("it returned %v", err)
				})
				wg.Wait()
				if n := db.Count("a"); n != 0 {
					t.Errorf("%d rows, want none", n)
				}
				_, _, err := doTx(t.Context(), t, g, db, func(context.Context, int) error { return nil })
				if !errors.Is(err, want) {
					t.Errorf("afterwards: got %v, want %v", err, want)
				}
			})
		}
	}
}
