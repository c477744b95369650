package pgstore_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/pgstore"
)

var errWork = errors.New("the work failed")

// inner orders within the work of another order.
func (s *shop) inner(ctx context.Context, name string, end error) (order, error) {
	return pgstore.Do(ctx, s.guard, orderKey(name), semel.Fingerprint{1}, func(ctx context.Context, tx pgx.Tx) (order, error) {
		o, err := s.insert(ctx, tx, name)
		return o, errors.Join(err, end)
	})
}

// Promise 4: what is done inside of a transaction commits with it or not at
// all, and is also replayed inside of it.
func TestDoNested(t *testing.T) {
	t.Parallel()
	for name, isolation := range map[string]pgx.TxIsoLevel{
		"default": "", "repeatable read": pgx.RepeatableRead, "serializable": pgx.Serializable,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, nil)
			outer := func(end error) error {
				_, err := semel.DoTx(t.Context(), s.guard, s.store.Transactor(&pgstore.TxOptions{Isolation: isolation}), orderKey("outer"), semel.Fingerprint{1},
					func(ctx context.Context) (order, error) {
						fence := semel.FenceFrom(ctx)
						o, err := s.insert(ctx, pgstore.TxFrom(ctx), "outer")
						if err != nil {
							return o, err
						}
						first, err := s.inner(ctx, "inner", nil)
						if err != nil {
							return o, err
						}
						if again, err := s.inner(ctx, "inner", nil); err != nil || again != first {
							t.Errorf("the inner order again: got %v, error %v, want %v", again, err, first)
						}
						if _, err := s.inner(ctx, "outer", nil); !errors.Is(err, semel.ErrInFlight) {
							t.Errorf("the key of the transaction itself: got %v, want %v", err, semel.ErrInFlight)
						}
						if semel.FenceFrom(ctx) != fence {
							t.Error("the outer work lost its fence")
						}
						return o, end
					})
				return err
			}
			if err := outer(errWork); !errors.Is(err, errWork) {
				t.Fatalf("got %v, want %v", err, errWork)
			}
			s.wantNames(t, "")
			s.wantState(t, "inner", semel.StateAbsent)
			if err := outer(nil); err != nil {
				t.Fatal(err)
			}
			s.wantNames(t, "outer inner")
			s.wantState(t, "inner", semel.StateCompleted)
			s.wantState(t, "outer", semel.StateCompleted)
			s.idle(t)
		})
	}
}

// What fails inside of a transaction leaves the rest of it as it was, down to
// any depth.
func TestDoNestedFails(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	_, err := s.work(t.Context(), func(ctx context.Context, _ pgx.Tx) error {
		_, err := pgstore.Do(ctx, s.guard, orderKey("middle"), semel.Fingerprint{1}, func(ctx context.Context, tx pgx.Tx) (int, error) {
			if _, err := s.insert(ctx, tx, "middle"); err != nil {
				return 0, err
			}
			for _, end := range []error{errWork, semel.MarkReleased(errWork)} {
				if _, err := s.inner(ctx, "failed", end); !errors.Is(err, errWork) {
					t.Errorf("got %v, want %v", err, errWork)
				}
			}
			_, err := pgstore.Do(ctx, s.guard, orderKey("broken"), semel.Fingerprint{1}, func(ctx context.Context, tx pgx.Tx) (int, error) {
				_, err := tx.Exec(ctx, "SELECT 1 / 0")
				return 0, err
			})
			wantWords(t, err, "division by zero")
			_, err = pgstore.Do(ctx, s.guard, orderKey("aborted"), semel.Fingerprint{1}, func(ctx context.Context, tx pgx.Tx) (int, error) {
				_, _ = tx.Exec(ctx, "SELECT 1 / 0")
				return 0, nil
			})
			wantWords(t, err, "a statement of the work failed")
			func() {
				defer func() { _ = recover() }()
				_, _ = pgstore.Do(ctx, s.guard, orderKey("panic"), semel.Fingerprint{1}, func(ctx context.Context, tx pgx.Tx) (int, error) {
					_, err := s.insert(ctx, tx, "panic")
					panic(err)
				})
			}()
			_, err = s.inner(ctx, "last", nil)
			return 0, err
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s.wantNames(t, "middle last")
	for name, want := range map[string]semel.State{
		"k": semel.StateCompleted, "middle": semel.StateCompleted, "last": semel.StateCompleted,
		"failed": semel.StateAbsent, "broken": semel.StateAbsent, "aborted": semel.StateAbsent, "panic": semel.StateAbsent,
	} {
		s.wantState(t, name, want)
	}
	s.idle(t)
}

// Promise 3: what is known of undone work outlives the transaction around it.
func TestDoNestedMarks(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	_, err := s.work(t.Context(), func(ctx context.Context, _ pgx.Tx) error {
		for name, end := range map[string]error{"unknown": semel.MarkUnknown(errWork), "final": semel.MarkFinal(errWork)} {
			if _, err := s.inner(ctx, name, end); !errors.Is(err, errWork) {
				t.Errorf("%s: got %v, want %v", name, err, errWork)
			}
		}
		return errWork
	})
	if !errors.Is(err, errWork) {
		t.Fatal(err)
	}
	s.wantNames(t, "")
	s.wantState(t, "k", semel.StateAbsent)
	s.wantState(t, "unknown", semel.StateUnknown)
	s.wantState(t, "final", semel.StateCompleted)
	if _, err := s.do(t.Context(), "unknown"); !errors.Is(err, semel.ErrUnknown) {
		t.Errorf("got %v, want %v", err, semel.ErrUnknown)
	}
	if _, err := s.do(t.Context(), "final"); !errors.As(err, new(*semel.FinalError)) {
		t.Errorf("got %v, want a %T", err, &semel.FinalError{})
	}
	s.idle(t)
}

// Open rows keep the inner work from being undone, so all of it goes.
func TestDoNestedOpenRows(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	_, err := s.work(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		if _, err := s.insert(ctx, tx, "outer"); err != nil {
			return err
		}
		var open pgx.Rows
		_, err := pgstore.Do(ctx, s.guard, orderKey("inner"), semel.Fingerprint{1}, func(ctx context.Context, tx pgx.Tx) (int, error) {
			if _, err := s.insert(ctx, tx, "inner"); err != nil {
				return 0, err
			}
			rows, err := tx.Query(ctx, "SELECT generate_series(1, 3)") //nolint:sqlclosecheck // closed by the caller.
			open = rows
			return 0, errors.Join(err, errWork)
		})
		open.Close()
		if !errors.Is(err, errWork) {
			t.Errorf("got %v, want %v", err, errWork)
		}
		return nil
	})
	if !errors.Is(err, semel.ErrRolledBack) {
		t.Errorf("got %v, want %v", err, semel.ErrRolledBack)
	}
	s.wantNames(t, "")
	s.idle(t)
}

// Two transactions that hold each other's next key: the database sees the
// circle, undoes one, and that runs again as a whole.
func TestDoNestedDeadlock(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	var met sync.WaitGroup
	met.Add(2)
	both := func(first, second string) error {
		once := sync.OnceFunc(func() {
			met.Done()
			met.Wait()
		})
		_, err := pgstore.Do(t.Context(), s.guard, orderKey(first), semel.Fingerprint{1}, func(ctx context.Context, _ pgx.Tx) (order, error) {
			once()
			return s.inner(ctx, second, nil)
		})
		return err
	}
	var wg sync.WaitGroup
	var errs [2]error
	wg.Go(func() { errs[0] = both("a", "b") })
	wg.Go(func() { errs[1] = both("b", "a") })
	wg.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.Error(err)
	}
	s.wantState(t, "a", semel.StateCompleted)
	s.wantState(t, "b", semel.StateCompleted)
	s.idle(t)
}
