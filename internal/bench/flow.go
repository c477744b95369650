package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/internal/bench/contest"
	"github.com/semel-dev/semel/store/pgstore"
)

const (
	flowSteps = 4
	aimFlow   = 2.0
)

// benchFlow compares a flow with the same rows written without protection, and with
// the one transaction that is enough where one database holds them all.
func benchFlow(ctx context.Context, s *contest.Settings) (*contest.Table, error) {
	b, err := openPostgresBench(ctx)
	if err != nil {
		return nil, err
	}
	defer b.close()
	order := b.orderFlow()
	flows, err := flow.New(b.group, &flow.Options{Transactor: b.store.Transactor(nil)}, order)
	if err != nil {
		return nil, err
	}
	const bare, transactions = "4 inserts, each its own commit, unprotected", "4 transactions, unprotected"
	t := &contest.Table{Title: fmt.Sprintf("flow: 4 rows of %d bytes on PostgreSQL, %d callers, time of all 4", rowBytes, manyCallers)}
	c := contest.Contest{Callers: manyCallers, Meter: b.meter, Entries: []contest.Entry{
		{Name: bare, One: inTurn(b.insert)},
		{Name: transactions, Rival: bare, One: inTurn(b.insertInTransaction)},
		{Name: "one Do with the 4 inserts", Rival: transactions, One: func(ctx context.Context) error {
			_, err := pgstore.Do(ctx, b.group, b.keys.next(), semel.Fingerprint{1}, func(ctx context.Context, tx pgx.Tx) (int, error) {
				return flowSteps, inTurn(func(ctx context.Context) error {
					_, err := b.insertBy(ctx, tx)
					return err
				})(ctx)
			})
			return err
		}},
		{Name: "a flow of 4 steps", Rival: transactions, Most: aimFlow, One: func(ctx context.Context) error {
			_, err := flow.Start(ctx, flows, order, b.keys.next(), "")
			return err
		}},
	}}
	return t, c.Run(ctx, s, t)
}

// inTurn does the steps one after the other.
func inTurn(one func(ctx context.Context) error) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		for i := 0; err == nil && i < flowSteps; i++ {
			err = one(ctx)
		}
		return err
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
