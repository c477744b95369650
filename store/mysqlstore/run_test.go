package mysqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/mysqlstore"
)

const insertSQL = "INSERT INTO business (name) VALUES (?)"

func ask(name string) mysqlstore.Query { return mysqlstore.Query{SQL: insertSQL, Args: []any{name}} }

// runs adds two rows, and answers with the number of the first.
func (b *txBundle) runs(ctx context.Context, g *semel.Guard, name string, ran *atomic.Int64) (int64, error) {
	queries := []mysqlstore.Query{ask(name), {SQL: "UPDATE business SET name = CONCAT(name, ?) WHERE n = LAST_INSERT_ID()", Args: []any{"!"}}, ask(name + "'")}
	return mysqlstore.Run(ctx, g, key(name), asked(), queries, func(results []mysqlstore.Result) (int64, error) {
		ran.Add(1)
		if len(results) != 3 || results[1] != (mysqlstore.Result{RowsAffected: 1}) || results[2].LastInsertID <= results[0].LastInsertID || results[0].RowsAffected != 1 {
			return 0, errBusiness
		}
		return results[0].LastInsertID, nil
	})
}

// Promises 2 and 4: the statements and the record commit together, whatever the pool, and a duplicate gets the first result.
func TestRun(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, d door) {
		t.Helper()
		b := setUpTx(t, d, nil)
		_, other := b.second(t, nil)
		var ran atomic.Int64
		first, err := b.runs(t.Context(), b.guard, "k", &ran)
		noError(t, err)
		for _, g := range []*semel.Guard{b.guard, other} {
			if again, err := b.runs(t.Context(), g, "k", &ran); err != nil || again != first || first == 0 || ran.Load() != 1 {
				t.Errorf("got %d, error %v after %d runs, want %d", again, err, ran.Load(), first)
			}
		}
		made, err := mysqlstore.Exec(t.Context(), b.guard, key("e"), asked(), insertSQL, "e")
		if again, err2 := mysqlstore.Exec(t.Context(), other, key("e"), asked(), insertSQL, "e"); err != nil || err2 != nil || made != again || made.LastInsertID <= first {
			t.Errorf("got %v, error %v, then %v, error %v", made, err, again, err2)
		}
		if _, err := mysqlstore.Exec(t.Context(), b.guard, key("bad"), asked(), "INSERT INTO business (name) VALUES (NULL)"); err == nil {
			t.Error("NULL got no error")
		}
		for _, n := range []int{0, 17} {
			if _, err := mysqlstore.Run(t.Context(), b.guard, key("many"), asked(), make([]mysqlstore.Query, n), func([]mysqlstore.Result) (int, error) { return 0, nil }); err == nil {
				t.Errorf("%d statements: no error", n)
			}
		}
		b.wantRows(t, "k!", "k'", "e")
		b.wantState(t, "bad", semel.StateAbsent)
		b.wantState(t, "many", semel.StateAbsent)
		b.goesOn(t)
	})
}

// Within a transaction, Run is a part of it.
func TestRunInside(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, d door) {
		t.Helper()
		b := setUpTx(t, d, nil)
		for _, end := range []error{errBusiness, nil} {
			_, err := b.do(t.Context(), "outer", func(ctx context.Context, _ *sql.Tx) (string, error) {
				_, err := mysqlstore.Exec(ctx, b.guard, key("inner"), asked(), insertSQL, "inner")
				return "", errors.Join(err, end)
			})
			if !errors.Is(err, end) {
				t.Fatal(err)
			}
		}
		b.wantRows(t, "inner")
		b.wantState(t, "inner", semel.StateCompleted)
	})
}

// Promise 1: of many duplicates at once, in two processes that share transactions, one
// is executed, and all get its result.
func TestExecDuplicates(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]door{"open": {}, "as on MySQL": {with: mysqlstore.WithoutBounds}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d.together = true
			b := setUpTx(t, d, nil)
			_, other := b.second(t, nil)
			var want []string
			for _, name := range []string{"a", "b", "c"} {
				want = append(want, name)
				var mu sync.Mutex // guards got
				got := map[mysqlstore.Result]int{}
				var wg sync.WaitGroup
				for i := range 32 {
					wg.Go(func() {
						made, err := mysqlstore.Exec(t.Context(), []*semel.Guard{b.guard, other}[i%2], key(name), asked(), insertSQL, name)
						if err != nil {
							t.Error(err)
						}
						mu.Lock()
						defer mu.Unlock()
						got[made]++
					})
				}
				wg.Wait()
				if len(got) != 1 {
					t.Errorf("got %v, want one result", got)
				}
			}
			b.wantRows(t, want...)
		})
	}
}
