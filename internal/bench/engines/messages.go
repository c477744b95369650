package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/bench/contest"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/store/groupcommit"
	"github.com/semel-dev/semel/store/pgstore"
)

const (
	rowBytes = 300
	keys     = 1000 // that messages are about

	insertRow = "INSERT INTO row (body) VALUES ($1)"
)

// shop is one schema of PostgreSQL with the rows of an application, an outbox and an inbox.
type shop struct {
	schema string
	pool   *pgxpool.Pool
	db     *sql.DB // the same, for the relay
	store  *pgstore.Store
	guard  *semel.Guard
	shared *pgstore.Store // the same records, with Options.Together
	out    *outbox.Outbox
	in     *inbox.Inbox
	body   string
	number atomic.Int64
}

func openShop(ctx context.Context) (*shop, error) {
	dsn := os.Getenv("SEMEL_TEST_POSTGRES")
	if dsn == "" {
		return nil, errors.New("SEMEL_TEST_POSTGRES names no server: run it as the Makefile does")
	}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	s := &shop{schema: "shop_" + strings.ToLower(rand.Text()[:8]), body: strings.Repeat("x", rowBytes)}
	config.MaxConns, config.MinConns = callers, callers
	config.ConnConfig.RuntimeParams["search_path"] = s.schema
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	s.db = stdlib.OpenDBFromPool(s.pool)
	return s, s.prepare(ctx)
}

func (s *shop) prepare(ctx context.Context) (err error) {
	if s.store, err = pgstore.New(ctx, s.pool, &pgstore.Options{Schema: s.schema}); err != nil {
		return err
	}
	if _, err = s.pool.Exec(ctx, "CREATE TABLE row (id bigserial PRIMARY KEY, body text NOT NULL); CREATE TABLE note (LIKE row INCLUDING ALL)"); err != nil {
		return err
	}
	grouped, err := groupcommit.New(s.store, nil)
	if err != nil {
		return err
	}
	if s.guard, err = semel.New(grouped, &semel.Options{SweepEvery: -1}); err != nil {
		return err
	}
	if s.in, err = inbox.New(s.guard, &inbox.Options{Consumer: "bench"}); err != nil {
		return err
	}
	if s.shared, err = pgstore.New(ctx, s.pool, &pgstore.Options{Schema: s.schema, Together: true}); err != nil {
		return err
	}
	s.out, err = outbox.Open(ctx, s.db, nil)
	return err
}

func (s *shop) close() {
	_ = s.guard.Close() // only measured
	_ = s.shared.Close()
	_ = s.db.Close()
	if _, err := s.pool.Exec(context.Background(), "DROP SCHEMA "+s.schema+" CASCADE"); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	s.pool.Close()
}

// inTx begins a transaction, does the work and commits.
func (s *shop) inTx(ctx context.Context, work func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, s.pool, work)
}

func (s *shop) insert(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, insertRow, s.body)
	return err
}

// message returns a new message of a row's size.
func (s *shop) message() outbox.Message {
	n := s.number.Add(1)
	return outbox.Message{Topic: "row.made", Key: strconv.FormatInt(n%keys, 10), Body: []byte(s.body)}
}

// benchInbox compares the transaction of a message with the same one without an inbox.
func benchInbox(ctx context.Context, set *contest.Settings) (*contest.Table, error) {
	s, err := openShop(ctx)
	if err != nil {
		return nil, err
	}
	defer s.close()
	received := func() inbox.Message {
		return inbox.Message{ID: strconv.FormatInt(s.number.Add(1), 10), Subject: "row.made", Body: []byte(s.body), Deliveries: 1}
	}
	const bare, insert = "a transaction of one INSERT", "one INSERT"
	t := &contest.Table{Title: fmt.Sprintf("inbox: a row of %d bytes for each message on PostgreSQL, %d callers", rowBytes, callers)}
	c := contest.Contest{Callers: callers, Meter: s.cpu, Entries: []contest.Entry{
		{Name: bare, One: func(ctx context.Context) error {
			return s.inTx(ctx, func(tx pgx.Tx) error { return s.insert(ctx, tx) })
		}},
		{Name: "HandleTx", Rival: bare, One: func(ctx context.Context) error {
			return acked(s.in.HandleTx(ctx, s.store.Transactor(nil), received(), func(ctx context.Context, _ inbox.Message) error {
				return s.insert(ctx, pgstore.TxFrom(ctx))
			}))
		}},
		{Name: "HandleTx, its statement with the claim", Rival: bare, One: func(ctx context.Context) error {
			return s.handle(ctx, s.store, received())
		}},
		{Name: "the same, sharing commits", Rival: bare, Aim: aimInbox, One: func(ctx context.Context) error {
			return s.handle(ctx, s.shared, received())
		}},
		{Name: insert, One: func(ctx context.Context) error {
			_, err := s.pool.Exec(ctx, insertRow, s.body)
			return err
		}},
		{Name: "Handle, group commit", Rival: insert, One: func(ctx context.Context) error {
			return acked(s.in.Handle(ctx, received(), func(ctx context.Context, _ inbox.Message) error {
				_, err := s.pool.Exec(ctx, insertRow, s.body)
				return err
			}))
		}},
	}}
	if err := c.Run(ctx, set, t); err != nil {
		return nil, err
	}
	return t, consuming(ctx, set, s, t)
}

// handle inserts a row by a statement that is known beforehand.
func (s *shop) handle(ctx context.Context, store *pgstore.Store, m inbox.Message) error {
	t := store.Transactor(&pgstore.TxOptions{Queries: []pgstore.Query{{SQL: insertRow, Args: []any{s.body}}}})
	return acked(s.in.HandleTx(ctx, t, m, func(ctx context.Context, _ inbox.Message) error {
		_, err := pgstore.RowsFrom(ctx)
		return err
	}))
}

func acked(v inbox.Verdict) error {
	if v.Act != inbox.Ack {
		return fmt.Errorf("%s: %s: %w", v.Act, v.Reason, v.Err)
	}
	return nil
}

// benchOutbox compares writers with an outbox and without, and a relay with bare publishing.
func benchOutbox(ctx context.Context, set *contest.Settings) (*contest.Table, error) {
	s, err := openShop(ctx)
	if err != nil {
		return nil, err
	}
	defer s.close()
	together, err := semel.New(s.shared, &semel.Options{SweepEvery: -1})
	if err != nil {
		return nil, err
	}
	defer func() { _ = together.Close() }()
	const bare = "a transaction of one INSERT"
	t := &contest.Table{Title: fmt.Sprintf("outbox: a row and a message of %d bytes on PostgreSQL, %d callers", rowBytes, callers)}
	c := contest.Contest{Callers: callers, Meter: s.cpu, Entries: []contest.Entry{
		{Name: bare, One: func(ctx context.Context) error {
			return s.inTx(ctx, func(tx pgx.Tx) error { return s.insert(ctx, tx) })
		}},
		{Name: "and another INSERT", Rival: bare, One: func(ctx context.Context) error {
			return s.inTx(ctx, func(tx pgx.Tx) error {
				_, err := tx.Exec(ctx, "INSERT INTO note (body) VALUES ($1)", s.body)
				return errors.Join(err, s.insert(ctx, tx))
			})
		}},
		{Name: "and Add", Rival: bare, One: func(ctx context.Context) error {
			return s.inTx(ctx, func(tx pgx.Tx) error {
				return errors.Join(s.insert(ctx, tx), s.out.Add(ctx, outbox.Pgx(tx), s.message()))
			})
		}},
		{Name: "and Statement, with the INSERT", Rival: bare, Aim: aimWriter, One: func(ctx context.Context) error {
			return s.inTx(ctx, func(tx pgx.Tx) error { return s.both(ctx, tx) })
		}},
		{Name: "the same, as one batch", Rival: bare, Aim: aimWriter, One: func(ctx context.Context) error { return s.both(ctx, s.pool) }},
		{Name: "Run of both, sharing commits", Rival: bare, Aim: aimWriter, One: func(ctx context.Context) error {
			query, args, err := s.out.Statement(ctx, s.message())
			if err != nil {
				return err
			}
			key := semel.Key{Scope: "bench", Name: strconv.FormatInt(s.number.Add(1), 10)}
			_, err = pgstore.Run(ctx, together, key, semel.Fingerprint{}, []pgstore.Query{{SQL: insertRow, Args: []any{s.body}}, {SQL: query, Args: args}},
				func([]pgx.Rows) (int, error) { return 0, nil })
			return err
		}},
	}}
	if err := c.Run(ctx, set, t); err != nil {
		return nil, err
	}
	if _, err := s.pool.Exec(ctx, "TRUNCATE semel_outbox"); err != nil {
		return nil, err
	}
	return t, relaying(ctx, set, s, t)
}

// both sends the row and its message in one round trip.
func (s *shop) both(ctx context.Context, to interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
},
) error {
	query, args, err := s.out.Statement(ctx, s.message())
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	b.Queue(insertRow, s.body)
	b.Queue(query, args...)
	return to.SendBatch(ctx, b).Close()
}
