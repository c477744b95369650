package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/bench/contest"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/store/pgstore"
)

const (
	aimInbox, aimWriter = 0.8, 0.85

	transactionOfOne = "a transaction of one INSERT"
)

// benchMessages compares a transaction that inserts one row with transactions that also receive or send a message.
func benchMessages(ctx context.Context, set *contest.Settings) (*contest.Table, error) {
	b, err := openPostgresBench(ctx)
	if err != nil {
		return nil, err
	}
	defer b.close()
	shared, err := pgstore.New(ctx, b.pool, &pgstore.Options{Schema: b.schema, Together: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = shared.Close() }() // only measured
	in, err := inbox.New(b.group, &inbox.Options{Consumer: "bench"})
	if err != nil {
		return nil, err
	}
	db := stdlib.OpenDBFromPool(b.pool)
	defer func() { _ = db.Close() }()
	out, err := outbox.Open(ctx, db, nil)
	if err != nil {
		return nil, err
	}
	t := &contest.Table{Title: fmt.Sprintf("messages: one for each row of %d bytes on PostgreSQL, %d callers", rowBytes, manyCallers)}
	c := contest.Contest{Callers: manyCallers, Meter: b.meter, Entries: []contest.Entry{
		{Name: transactionOfOne, One: b.insertInTransaction},
		{Name: "HandleTx", Rival: transactionOfOne, One: func(ctx context.Context) error {
			return acked(in.HandleTx(ctx, b.store.Transactor(nil), b.received(), func(ctx context.Context, _ inbox.Message) error {
				_, err := b.insertBy(ctx, pgstore.TxFrom(ctx))
				return err
			}))
		}},
		{Name: "HandleTx, its statement with the claim", Rival: transactionOfOne, One: b.handle(in, b.store)},
		{Name: "the same, sharing commits", Rival: transactionOfOne, Aim: aimInbox, One: b.handle(in, shared)},
		{Name: "two INSERTs", Rival: transactionOfOne, One: b.inTx(b.insertTwice)},
		{Name: "an INSERT and Add", Rival: transactionOfOne, One: b.inTx(func(ctx context.Context, tx pgx.Tx) error {
			_, err := b.insertBy(ctx, tx)
			return errors.Join(err, out.Add(ctx, outbox.Pgx(tx), b.sent()))
		})},
		{Name: "an INSERT with Statement", Rival: transactionOfOne, Aim: aimWriter, One: b.inTx(func(ctx context.Context, tx pgx.Tx) error {
			return b.both(ctx, out, tx)
		})},
		{Name: "the same, as one batch", Rival: transactionOfOne, Aim: aimWriter, One: func(ctx context.Context) error { return b.both(ctx, out, b.pool) }},
		{Name: "Run of both, sharing commits", Rival: transactionOfOne, Aim: aimWriter, One: b.runBoth(out)},
	}}
	return t, c.Run(ctx, set, t)
}

func (b *postgresBench) received() inbox.Message {
	return inbox.Message{ID: b.keys.next().Name, Subject: "row.made", Body: []byte(b.body), Deliveries: 1}
}

func (b *postgresBench) sent() outbox.Message {
	return outbox.Message{Topic: "row.made", Key: b.keys.next().Name, Body: []byte(b.body)}
}

func (b *postgresBench) inTx(work func(ctx context.Context, tx pgx.Tx) error) func(context.Context) error {
	return func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error { return work(ctx, tx) })
	}
}

func (b *postgresBench) insertTwice(ctx context.Context, tx pgx.Tx) error {
	_, first := b.insertBy(ctx, tx)
	_, second := b.insertBy(ctx, tx)
	return errors.Join(first, second)
}

// handle inserts a row by a statement that is known beforehand.
func (b *postgresBench) handle(in *inbox.Inbox, store *pgstore.Store) func(context.Context) error {
	return func(ctx context.Context) error {
		t := store.Transactor(&pgstore.TxOptions{Queries: []pgstore.Query{{SQL: insertPG, Args: []any{b.body}}}}) // it belongs to one message
		return acked(in.HandleTx(ctx, t, b.received(), func(ctx context.Context, _ inbox.Message) error {
			_, err := pgstore.RowsFrom(ctx)
			return err
		}))
	}
}

func acked(v inbox.Verdict) error {
	if v.Act != inbox.Ack {
		return fmt.Errorf("%s: %s: %w", v.Act, v.Reason, v.Err)
	}
	return nil
}

// both sends the row and its message in one round trip.
func (b *postgresBench) both(ctx context.Context, out *outbox.Outbox, to interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
},
) error {
	query, args, err := out.Statement(ctx, b.sent())
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	batch.Queue(insertPG, b.body)
	batch.Queue(query, args...)
	return to.SendBatch(ctx, batch).Close()
}

func (b *postgresBench) runBoth(out *outbox.Outbox) func(context.Context) error {
	return func(ctx context.Context) error {
		query, args, err := out.Statement(ctx, b.sent())
		if err != nil {
			return err
		}
		_, err = pgstore.Run(ctx, b.together, b.keys.next(), semel.Fingerprint{1}, []pgstore.Query{{SQL: insertPG, Args: []any{b.body}}, {SQL: query, Args: args}},
			func([]pgx.Rows) (int, error) { return 0, nil })
		return err
	}
}
