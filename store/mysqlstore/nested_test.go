package mysqlstore_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/mysqlstore"
)

// A deadlock inside undoes everything: the outer work runs again, and what it
// calls inside does not go on without a transaction.
func TestNestedDeadlock(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, d door) {
		t.Helper()
		b := setUpTx(t, d, &semel.Options{Policy: semel.PaymentPolicy()})
		outer, inner := 0, 0
		answer, err := b.do(t.Context(), "outer", func(ctx context.Context, tx *sql.Tx) (string, error) {
			outer++
			if err := insert(ctx, tx, "outer"); err != nil {
				return "", err
			}
			return b.do(ctx, "inner", func(ctx context.Context, tx *sql.Tx) (string, error) {
				inner++
				if inner == 1 {
					return "", deadlock(ctx, b, tx)
				}
				return "answer", insert(ctx, tx, "inner")
			})
		})
		if err != nil || answer != "answer" || outer != 2 || inner != 2 {
			t.Errorf("got %q, error %v, after %d and %d runs", answer, err, outer, inner)
		}
		b.wantRows(t, "inner", "outer")
		b.wantState(t, "inner", semel.StateCompleted)
		b.goesOn(t)
	})
}

// The context of work that is over is the one of no transaction.
func TestContextOutlivesItsTransaction(t *testing.T) {
	t.Parallel()
	b := setUpTx(t, door{}, nil)
	var kept context.Context
	_, err := b.do(t.Context(), "k", func(ctx context.Context, tx *sql.Tx) (string, error) {
		if mysqlstore.TxFrom(ctx) != tx {
			t.Error("the context has another transaction than the work")
		}
		kept = context.WithoutCancel(ctx) //nolint:fatcontext // it is kept on purpose.
		return "", nil
	})
	noError(t, err)
	if mysqlstore.TxFrom(kept) != nil || mysqlstore.TxFrom(t.Context()) != nil {
		t.Error("a context without a transaction gave one")
	}
	if _, err := b.do(kept, "later", add("later")); err != nil {
		t.Error(err)
	}
	b.wantRows(t, "later")
}
