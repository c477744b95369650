package flow_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/internal/waiting"
	"github.com/semel-dev/semel/store/pgstore"
)

// TestDatabaseKilled: the database is killed while flows run, again and again. Each step is
// there once, and each Undo (promises 3 and 4).
func TestDatabaseKilled(t *testing.T) {
	t.Parallel()
	runs, kills := claimtest.Times(40, 200, 500), claimtest.Times(2, 10, 25)
	server := testserver.StartPostgres(t, nil)
	l := openPostgresLedger(t, server.DSN())
	service := sync.Map{} // the keys of calls, with their amounts
	def := flow.Define("book", func(r *flow.Run, amount int) (int, error) {
		add := func(name string, amount int) error {
			_, err := flow.Tx(r, name, amount, func(ctx context.Context, amount int) (int, error) { return amount, l.add(ctx, amount) },
				flow.Undo(func(ctx context.Context, amount int) error { return l.add(ctx, -amount) }))
			return err
		}
		if err := add("order", amount); err != nil {
			return 0, err
		}
		if _, err := flow.Call(r, "charge", amount, func(ctx context.Context, amount int) (int, error) {
			service.Store(flow.KeyFrom(ctx), amount)
			return 1, nil
		}, flow.CalleeDedupes(time.Hour), flow.Undo(func(ctx context.Context, _ int) error {
			service.Store(flow.KeyFrom(ctx), -amount)
			return nil
		}, flow.CalleeDedupes(time.Hour))); err != nil {
			return 0, err
		}
		if amount%4 == 0 {
			return 0, semel.MarkFinal(errDown)
		}
		return 1, add("points", amount)
	})
	guard, err := semel.New(l.store, &semel.Options{Policy: semel.Policy{Lease: time.Second, Wait: 20 * time.Second}, StoreTimeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = guard.Close(), l.store.Close() })
	flows := newFlows(t, guard, &flow.Options{Transactor: l.transactor}, def)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var all sync.WaitGroup
	var number atomic.Int64
	killed := make(chan struct{})
	began := time.Now()
	for range 8 {
		all.Go(func() {
			for more := true; more; {
				amount := int(number.Add(1))
				for pause := range waiting.Backoffs() {
					_, err := flow.Start(ctx, flows, def, numbered(amount), amount)
					if err == nil || isFailed(err) || !waiting.Sleep(ctx, pause) {
						break
					}
				}
				select {
				case <-killed:
					more = amount < runs
				default:
				}
			}
		})
	}
	for range kills {
		waiting.Sleep(ctx, rand.N(400*time.Millisecond)) // any moment of the flows that run
		server.Kill()
		server.Start()
	}
	close(killed)
	all.Wait()
	t.Logf("%d runs, the database was killed %d times, %v", number.Load(), kills, time.Since(began).Round(time.Millisecond))
	got, want := map[int]int{}, map[int]int{}
	for amount := 1; amount <= int(number.Load()); amount++ {
		want[amount] = 3 // with the charge
		if amount%4 == 0 {
			want[amount], want[-amount] = 2, 2
		}
	}
	service.Range(func(_, amount any) bool { got[amount.(int)]++; return true })
	rows, err := l.store.(*pgstore.Store).Pool().Query(t.Context(), "SELECT amount FROM ledger")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var amount int
		if err := rows.Scan(&amount); err != nil {
			t.Fatal(err)
		}
		got[amount]++
	}
	if err := rows.Err(); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the effects are\n%v, %v, want\n%v", got, err, want)
	}
}
