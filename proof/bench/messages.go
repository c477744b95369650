package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/store/pgstore"
)

const (
	aimInbox, aimWriter = 0.8, 0.85

	flowSteps = 4
	aimFlow   = 2.0

	fourTransactions = "4 bare transactions"
)

// messageEntries are transactions of one INSERT that also receive or send a message, and flows of such steps.
func (b *postgresBench) messageEntries(ctx context.Context) ([]entry, error) {
	in, err := inbox.New(b.group, &inbox.Options{Consumer: "bench"})
	if err != nil {
		return nil, err
	}
	out, err := outbox.Open(ctx, stdlib.OpenDBFromPool(b.pool), nil)
	if err != nil {
		return nil, err
	}
	order := b.orderFlow()
	flows, err := flow.New(b.group, &flow.Options{Transactor: b.store.Transactor(nil)}, order)
	if err != nil {
		return nil, err
	}
	return []entry{
		{Name: "HandleTx", Rival: bareTransaction, One: b.handle(in, b.store)},
		{Name: "HandleTx, together", Rival: bareTransaction, Aim: aimInbox, One: b.handle(in, b.shared)},
		{Name: "INSERT and message, one batch", Rival: bareTransaction, Aim: aimWriter, One: b.send(out)},
		{Name: fourTransactions, One: func(ctx context.Context) (err error) {
			for i := 0; err == nil && i < flowSteps; i++ {
				err = b.insertInTransaction(ctx)
			}
			return err
		}},
		{Name: "a flow of 4 steps", Rival: fourTransactions, Most: aimFlow, One: func(ctx context.Context) error {
			_, err := flow.Start(ctx, flows, order, b.keys.next(), "")
			return err
		}},
	}, nil
}

// handle receives a message and inserts a row by a statement that is known beforehand.
func (b *postgresBench) handle(in *inbox.Inbox, store *pgstore.Store) func(context.Context) error {
	return func(ctx context.Context) error {
		t := store.Transactor(&pgstore.TxOptions{Queries: []pgstore.Query{{SQL: insertPG, Args: []any{b.body}}}}) // it belongs to one message
		m := inbox.Message{ID: b.keys.next().Name, Subject: "row.made", Body: []byte(b.body), Deliveries: 1}
		v := in.HandleTx(ctx, t, m, func(ctx context.Context, _ inbox.Message) error {
			_, err := pgstore.RowsFrom(ctx)
			return err
		})
		if v.Act != inbox.Ack {
			return fmt.Errorf("%s: %s: %w", v.Act, v.Reason, v.Err)
		}
		return nil
	}
}

// send sends the row and its message in one round trip.
func (b *postgresBench) send(out *outbox.Outbox) func(context.Context) error {
	return func(ctx context.Context) error {
		query, args, err := out.Statement(ctx, outbox.Message{Topic: "row.made", Key: b.keys.next().Name, Body: []byte(b.body)})
		if err != nil {
			return err
		}
		batch := &pgx.Batch{}
		batch.Queue(insertPG, b.body)
		batch.Queue(query, args...)
		return b.pool.SendBatch(ctx, batch).Close()
	}
}

// orderFlow writes a row in each step.
func (b *postgresBench) orderFlow() *flow.Definition[string, invoice] {
	insert := func(ctx context.Context, _ int) (invoice, error) { return b.insertBy(ctx, pgstore.TxFrom(ctx)) }
	return flow.Define("order", func(r *flow.Run, _ string) (invoice, error) {
		for i := range flowSteps - 1 {
			if _, err := flow.Tx(r, strconv.Itoa(i), i, insert); err != nil {
				return invoice{}, err
			}
		}
		return flow.Finish(r, "last", flowSteps-1, insert)
	})
}
