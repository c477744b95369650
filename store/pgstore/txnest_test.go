package pgstore_test

import (
	"context"
	"errors"
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

// A statement that fails inside of a transaction leaves the rest of it as it was.
func TestDoNestedFails(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	_, err := s.work(t.Context(), func(ctx context.Context, _ pgx.Tx) error {
		for name, words := range map[string]string{"broken": "division by zero", "aborted": "a statement of the work failed"} {
			_, err := pgstore.Do(ctx, s.guard, orderKey(name), semel.Fingerprint{1}, func(ctx context.Context, tx pgx.Tx) (int, error) {
				_, err := tx.Exec(ctx, "SELECT 1 / 0")
				if name == "aborted" {
					err = nil
				}
				return 0, err
			})
			wantWords(t, err, words)
			s.wantState(t, name, semel.StateAbsent) //nolint:contextcheck // the test has one context.
		}
		_, err := s.inner(ctx, "last", nil)
		return err
	})
	noError(t, err)
	s.wantNames(t, "last")
	s.wantState(t, "last", semel.StateCompleted)
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
		wantErr(t, "", err, errWork)
		return nil
	})
	wantErr(t, "", err, semel.ErrRolledBack)
	s.wantNames(t, "")
	s.idle(t)
}
