package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/outcomecache"
	"github.com/semel-dev/semel/store/groupcommit"
	"github.com/semel-dev/semel/store/pgstore"
)

const (
	benchConns = 32
	rowBytes   = 300
	insertPG   = `INSERT INTO bench_row (body) VALUES ($1) RETURNING id`

	bareTransaction = "bare transaction"

	aimDo          = 0.68 // the fastest that a design with a second row was measured at
	aimTogether    = 1.2
	aimRunTogether = 1.5
	aimTwoPhases   = 0.55
	aimReplay      = 0.85
	aimCached      = 1.0

	aimDoMySQL, aimTwoPhasesMySQL = 0.55, 0.6
)

// invoice is the outcome; its JSON is about as long as a row.
type invoice struct {
	ID   int64  `json:"id"`
	Body string `json:"body"`
}

var errNoServer = errors.New("no server: set its DSN, or run it through scripts/prepare, as make bench-stores does")

// postgresBench is one schema of one server, and all that works in it.
type postgresBench struct {
	schema   string
	wire     wire
	pool     *pgxpool.Pool
	store    *pgstore.Store
	shared   *pgstore.Store // lets statements share a transaction
	plain    *semel.Guard   // two phases, one commit each
	together *semel.Guard   // statements that share a transaction
	group    *semel.Guard   // two phases, group commit
	keys     keys
	body     string
}

func openPostgresBench(ctx context.Context) (*postgresBench, error) {
	dsn := os.Getenv("SEMEL_TEST_POSTGRES")
	if dsn == "" {
		return nil, fmt.Errorf("SEMEL_TEST_POSTGRES: %w", errNoServer)
	}
	b := &postgresBench{schema: "bench_" + strings.ToLower(rand.Text()[:8]), keys: keys{prefix: "k"}, body: strings.Repeat("x", rowBytes)}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConns, config.MinConns = benchConns, benchConns
	config.ConnConfig.DialFunc = b.wire.dial
	config.ConnConfig.RuntimeParams["search_path"] = b.schema
	if b.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	return b, errors.Join(b.prepare(ctx))
}

func (b *postgresBench) prepare(ctx context.Context) (err error) {
	if b.store, err = pgstore.New(ctx, b.pool, &pgstore.Options{Schema: b.schema}); err != nil {
		return err
	}
	if _, err = b.pool.Exec(ctx, "CREATE TABLE bench_row (id bigserial PRIMARY KEY, body text NOT NULL)"); err != nil {
		return err
	}
	if b.plain, b.group, err = guards(b.store); err != nil {
		return err
	}
	if b.shared, err = pgstore.New(ctx, b.pool, &pgstore.Options{Schema: b.schema, Together: true}); err != nil {
		return err
	}
	b.together, err = semel.New(b.shared, &semel.Options{SweepEvery: -1})
	return err
}

func (b *postgresBench) close() {
	ctx := context.Background()
	_ = b.together.Close() // only measured
	_ = b.group.Close()
	_ = b.plain.Close()
	if _, err := b.pool.Exec(ctx, "DROP SCHEMA "+b.schema+" CASCADE"); err != nil {
		say(os.Stderr, "bench: %v\n", err)
	}
	b.pool.Close()
}

// meter counts what the server and the wire count.
func (b *postgresBench) meter(ctx context.Context) ([]counter, error) {
	writes := b.wire.writes.Load()
	var wal float64
	err := b.pool.QueryRow(ctx, `SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn`).Scan(&wal)
	return []counter{{Name: "round trips", Value: float64(writes)}, {Name: "bytes of WAL", Value: wal}}, err
}

func (b *postgresBench) insert(ctx context.Context) error {
	_, err := b.insertBy(ctx, b.pool)
	return err
}

func (b *postgresBench) insertInTransaction(ctx context.Context) error {
	return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		_, err := b.insertBy(ctx, tx)
		return err
	})
}

// rowQuerier is a pool or a transaction.
type rowQuerier interface {
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}

func (b *postgresBench) insertBy(ctx context.Context, db rowQuerier) (inv invoice, err error) {
	inv.Body = b.body
	err = db.QueryRow(ctx, insertPG, b.body).Scan(&inv.ID)
	return inv, err
}

func (b *postgresBench) do(ctx context.Context) error {
	_, err := pgstore.Do(ctx, b.plain, b.keys.next(), semel.Fingerprint{1}, func(ctx context.Context, tx pgx.Tx) (invoice, error) {
		return b.insertBy(ctx, tx)
	})
	return err
}

func (b *postgresBench) exec(g *semel.Guard) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := pgstore.Exec[invoice](ctx, g, b.keys.next(), semel.Fingerprint{1},
			`INSERT INTO bench_row (body) VALUES ($1) RETURNING id, body`, b.body)
		return err
	}
}

// run makes the row by a statement known beforehand, and its result in the process.
func (b *postgresBench) run(g *semel.Guard) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := pgstore.Run(ctx, g, b.keys.next(), semel.Fingerprint{1}, []pgstore.Query{{SQL: insertPG, Args: []any{b.body}}},
			func(rows []pgx.Rows) (invoice, error) {
				inv := invoice{Body: b.body}
				var err error
				inv.ID, err = pgx.CollectExactlyOneRow(rows[0], pgx.RowTo[int64])
				return inv, err
			})
		return err
	}
}

func (b *postgresBench) twoPhases(g *semel.Guard) func(context.Context) error {
	return twoPhases(g, &b.keys, func(ctx context.Context) (invoice, error) { return b.insertBy(ctx, b.pool) })
}

// benchPostgres compares every way to make a row once with the bare row.
func benchPostgres(ctx context.Context, s *settings) (*table, error) {
	b, err := openPostgresBench(ctx)
	if err != nil {
		return nil, err
	}
	defer b.close()
	t := &table{Title: fmt.Sprintf("PostgreSQL: %d callers, %d connections, %d-byte rows, durable commits", manyCallers, benchConns, rowBytes)}
	messages, err := b.messageEntries(ctx)
	if err != nil {
		return nil, err
	}
	err = (&contest{Callers: manyCallers, Meter: b.meter, Entries: append([]entry{
		{Name: "bare INSERT", One: b.insert},
		{Name: bareTransaction, One: b.insertInTransaction},
		{Name: "Do", One: b.do, Rival: bareTransaction, Aim: aimDo},
		{Name: "Exec", One: b.exec(b.plain), Rival: "bare INSERT"},
		{Name: "Exec, together", One: b.exec(b.together), Rival: "bare INSERT", Aim: aimTogether},
		{Name: "Run", One: b.run(b.plain), Rival: bareTransaction},
		{Name: "Run, together", One: b.run(b.together), Rival: bareTransaction, Aim: aimRunTogether},
		{Name: "two phases, group commit", One: b.twoPhases(b.group), Rival: "bare INSERT", Aim: aimTwoPhases},
		{Name: "two phases, one commit each", One: b.twoPhases(b.plain), Rival: "bare INSERT"},
	}, messages...)}).Run(ctx, s, t)
	if err != nil {
		return nil, err
	}
	inv, err := b.insertBy(ctx, b.pool)
	if err != nil {
		return nil, err
	}
	return t, replays(ctx, s, t, b.store, b.meter, "bare SELECT", func(ctx context.Context) error {
		var body string
		return b.pool.QueryRow(ctx, `SELECT body FROM bench_row WHERE id = $1`, inv.ID).Scan(&body)
	})
}

// replays compares a replay, from the store and from memory, with reading a row.
func replays(ctx context.Context, s *settings, t *table, store semel.Store, m meter, rival string, read func(context.Context) error) error {
	cached, err := outcomecache.New(store, nil)
	if err != nil {
		return err
	}
	c := newCycler(store, "replayed", 0)
	p := paramsOf(c.keys.next())
	if err := cycle(ctx, store, p, c.outcome); err != nil {
		return err
	}
	return (&contest{Callers: manyCallers, Meter: m, Entries: []entry{
		{Name: rival, One: read},
		{Name: "replay", One: func(ctx context.Context) error { return replay(ctx, store, p) }, Rival: rival, Aim: aimReplay},
		{Name: "replay from memory", One: func(ctx context.Context) error { return replay(ctx, cached, p) }, Rival: rival, Aim: aimCached},
	}}).Run(ctx, s, t)
}

// twoPhases makes a row between a claim and its settlement.
func twoPhases(g *semel.Guard, k *keys, insert func(context.Context) (invoice, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := semel.Do(ctx, g, k.next(), semel.Fingerprint{1}, insert)
		return err
	}
}

// guards returns two guards on a store, with one commit each and with group commit.
func guards(store semel.Store) (plain, group *semel.Guard, err error) {
	grouped, err := groupcommit.New(store, nil)
	if err != nil {
		return nil, nil, err
	}
	if plain, err = semel.New(store, &semel.Options{SweepEvery: -1}); err != nil {
		return nil, nil, err
	}
	group, err = semel.New(grouped, &semel.Options{SweepEvery: -1})
	return plain, group, err
}
