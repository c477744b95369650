package main

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/semel-dev/semel/internal/bench/contest"
	"github.com/semel-dev/semel/internal/bench/order"
)

// benchFlow compares a flow with the same rows written without protection, and with
// the one transaction that is enough where one database holds them all.
func benchFlow(ctx context.Context, s *contest.Settings) (*contest.Table, error) {
	var w wire
	d, err := order.Open(ctx, "", func(config *pgxpool.Config) { config.ConnConfig.DialFunc = w.dial })
	if err != nil {
		return nil, err
	}
	defer d.Drop()
	entries, err := d.Entries()
	if err != nil {
		return nil, err
	}
	t := &contest.Table{Title: "flow: 4 rows of 300 bytes on PostgreSQL, 64 callers, time of all 4"}
	c := contest.Contest{Callers: manyCallers, Entries: entries, Meter: func(ctx context.Context) ([]contest.Counter, error) {
		return postgresMeter(ctx, &w, d.Pool)
	}}
	return t, c.Run(ctx, s, t)
}
