package which_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// service is a service elsewhere that keeps points and sends parcels. It recognises a key
// that it has seen.
type service struct {
	seen map[string]string
	sum  int
	down bool
}

var errDown = errors.New("the service is down")

// post is a POST with an Idempotency-Key header.
func (s *service) post(ctx context.Context, n int) (string, error) {
	key := flow.KeyFrom(ctx)
	switch {
	case s.down:
		return "", semel.MarkReleased(errDown) // nothing happened there
	case s.seen[key] == "":
		if s.seen == nil {
			s.seen = map[string]string{}
		}
		s.sum += n
		s.seen[key] = fmt.Sprint("receipt-", len(s.seen)+1)
	}
	return s.seen[key], nil
}

// orderFlow is createOrder across two databases and a service.
func (s *shop) orderFlow(warehouse *shop, points *service) *flow.Definition[Order, Receipt] {
	return flow.Define("create order", func(r *flow.Run, in Order) (Receipt, error) {
		id, err := flow.Tx(r, "insert order", in, insertOrder, flow.Undo(cancelOrder))
		if err != nil {
			return Receipt{}, err
		}
		elsewhere := flow.On(warehouse.guard, warehouse.store.Transactor())
		if _, err := flow.Tx(r, "take stock", in.Item, takeStock, elsewhere, flow.Undo(putBack)); err != nil {
			return Receipt{}, err
		}
		_, err = flow.Call(r, "add points", in.Price/10, points.post, flow.CalleeDedupes(20*time.Hour))
		return Receipt{Order: id, Points: in.Price / 10}, err
	})
}

// insertOrder works in the step's transaction, which its context carries.
func insertOrder(ctx context.Context, in Order) (int64, error) {
	tx := sqlitetx.TxFrom(ctx)
	id, err := exec(ctx, tx, "INSERT INTO orders (customer, item) VALUES (?, ?)", in.Customer, in.Item)
	if err != nil {
		return 0, err
	}
	_, err = tx.ExecContext(ctx, "UPDATE coupons SET used_by = ? WHERE code = ? AND used_by IS NULL", id, in.Coupon)
	return id, err
}

func cancelOrder(ctx context.Context, id int64) error {
	tx := sqlitetx.TxFrom(ctx)
	if _, err := tx.ExecContext(ctx, "UPDATE coupons SET used_by = NULL WHERE used_by = ?", id); err != nil {
		return err
	}
	_, err := exec(ctx, tx, "UPDATE orders SET status = 'cancelled' WHERE id = ?", id)
	return err
}

func takeStock(ctx context.Context, item string) (string, error) {
	if _, err := exec(ctx, sqlitetx.TxFrom(ctx), "UPDATE stock SET left = left - 1 WHERE item = ?", item); err != nil {
		return "", semel.MarkFinal(errors.New(item + " is sold out")) // an answer: what was done is undone
	}
	return item, nil
}

func putBack(ctx context.Context, item string) error {
	_, err := exec(ctx, sqlitetx.TxFrom(ctx), "UPDATE stock SET left = left + 1 WHERE item = ?", item)
	return err
}

// flows runs a definition over the shop's records.
func (s *shop) flows(defs ...flow.Defined) *flow.Flows {
	flows, err := flow.New(s.guard, &flow.Options{Transactor: s.store.Transactor()}, defs...)
	check(err)
	return flows
}

func start[In, Out any](ctx context.Context, f *flow.Flows, def *flow.Definition[In, Out], key semel.Key, in In) (Out, error) {
	return flow.Start(ctx, f, def, key, in)
}
