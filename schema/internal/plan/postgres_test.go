package plan_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/schema/internal/plan"
)

const seats = `version: 1
unique:
  - name: seat
    says: One seat is sold once per show.
    table: seats
    scope: [show_id]
    fields: [place]
`

// An interrupted CREATE INDEX CONCURRENTLY leaves an index that enforces
// nothing; the next plan takes it away and makes a good one, and so does running
// the same plan again.
func TestInterruptedPlanHeals(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.PostgreSQL)
	d.Exec(t, schema(d.Dialect)...)
	file := parse(t, seats)
	early := mustMake(t, d, file, nil)
	d.Exec(t, "INSERT INTO seats (id, show_id, place) VALUES (1, 1, 'A1'), (2, 1, 'A1')") // after the plan was made
	failed := false
	for _, s := range early.Steps[0].Up {
		if _, err := d.DB.ExecContext(t.Context(), s.SQL); err != nil {
			failed = strings.Contains(err.Error(), "23505")
		}
	}
	if !failed || !exists(t, d, "seat") {
		t.Fatalf("the run was to fail by a duplicate (%v) and leave an index (%v)", failed, exists(t, d, "seat"))
	}
	if p := mustMake(t, d, file, nil); len(p.Refused()) != 1 {
		t.Fatalf("with duplicates the plan is %+v, want a refusal", p.Steps)
	}
	d.Exec(t, "DELETE FROM seats WHERE id = 2")
	if p := mustMake(t, d, file, nil); len(p.Steps) != 1 {
		t.Fatalf("an index that enforces nothing was taken for one that does")
	}
	apply(t, d, early)
	if p := mustMake(t, d, file, nil); p.Enforced != 1 {
		t.Errorf("after running it again: %+v", p.Steps)
	}
}

func exists(t *testing.T, d *databases.Database, index string) (there bool) {
	t.Helper()
	noError(t, d.DB.QueryRowContext(t.Context(), "SELECT EXISTS (SELECT 1 FROM pg_class WHERE relname = $1)", index).Scan(&there))
	return there
}

// The index of a partitioned table is made leaf by leaf, whatever the depth, and
// an interrupted run is taken up where it ended.
func TestPartitions(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.PostgreSQL)
	d.Exec(t,
		"CREATE SCHEMA sales",
		"CREATE TABLE sales.orders (tenant_id integer NOT NULL, number varchar(40) NOT NULL, deleted_at timestamp) PARTITION BY LIST (tenant_id)",
		"CREATE TABLE sales.orders_1 PARTITION OF sales.orders FOR VALUES IN (1)",
		"CREATE TABLE sales.orders_2 PARTITION OF sales.orders FOR VALUES IN (2, 3) PARTITION BY HASH (tenant_id)",
		"CREATE TABLE sales.orders_2a PARTITION OF sales.orders_2 FOR VALUES WITH (MODULUS 2, REMAINDER 0)",
		"CREATE TABLE sales.orders_2b PARTITION OF sales.orders_2 FOR VALUES WITH (MODULUS 2, REMAINDER 1)")
	file := parse(t, `version: 1
unique:
  - name: order_number
    says: One order number per tenant.
    table: sales.orders
    scope: [tenant_id]
    fields: [number]
    except: [deleted_at is set]
`)
	// Wherever a run ended, the next plan brings the rest.
	for done := 2; ; done += 3 {
		p := mustMake(t, d, file, nil)
		if p.Enforced == 1 {
			t.Fatal("it is enforced before anything ran")
		}
		all := p.Steps[0].Up
		if done > len(all) {
			break
		}
		run(t, d, all[:done])
		if again := mustMake(t, d, file, nil); again.Enforced == 0 {
			apply(t, d, again)
		}
		if again := mustMake(t, d, file, nil); again.Enforced != 1 {
			t.Fatalf("interrupted after %d statements, then taken up: %+v", done, again.Steps)
		}
		for tenant := 1; tenant <= 3; tenant++ {
			row := fmt.Sprintf("(%d, 'A')", tenant)
			d.Exec(t, "INSERT INTO sales.orders VALUES "+row)
			if _, err := d.DB.ExecContext(t.Context(), "INSERT INTO sales.orders VALUES "+row); err == nil || !isDuplicate(err) {
				t.Errorf("tenant %d: a duplicate is answered by %v", tenant, err)
			}
		}
		d.Exec(t, "TRUNCATE sales.orders", "DROP INDEX sales.order_number")
	}
	// A leaf whose index is INVALID is made anew.
	d.Exec(t, "INSERT INTO sales.orders VALUES (1, 'A')")
	p := mustMake(t, d, file, nil)
	d.Exec(t, "INSERT INTO sales.orders VALUES (1, 'A')")
	for _, s := range p.Steps[0].Up {
		if _, err := d.DB.ExecContext(t.Context(), s.SQL); err != nil {
			break
		}
	}
	d.Exec(t, "TRUNCATE sales.orders")
	p = mustMake(t, d, file, nil)
	if text := fmt.Sprint(p.Steps[0].Up); !strings.Contains(text, "DROP INDEX CONCURRENTLY") {
		t.Errorf("the plan does not take away the invalid index of a leaf: %s", text)
	}
	apply(t, d, p)
	if again := mustMake(t, d, file, nil); again.Enforced != 1 {
		t.Errorf("after an invalid leaf: %+v", again.Steps)
	}
}

// A constraint, where one is asked for and can be; NOT NULL, where the rule
// forbids NULL; and in place of an index that says something else.
func TestConstraintNotNullAndReplacement(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.PostgreSQL)
	d.Exec(t, schema(d.Dialect)...)
	d.Exec(t, "ALTER TABLE seats ADD CONSTRAINT seat UNIQUE (place)")
	file := parse(t, seats+"    nulls: forbidden\n")
	p := mustMake(t, d, file, &plan.Options{Constraint: true, LockTimeout: 2 * time.Second})
	apply(t, d, p)
	var unique, notNull int
	if err := d.DB.QueryRowContext(t.Context(), `SELECT
		(SELECT count(*) FROM pg_constraint WHERE conname = 'seat' AND contype = 'u' AND cardinality(conkey) = 2),
		(SELECT count(*) FROM pg_attribute WHERE attrelid = 'seats'::regclass AND attname IN ('show_id', 'place') AND attnotnull)`).Scan(&unique, &notNull); err != nil {
		t.Fatal(err)
	}
	var checks int
	noError(t, d.DB.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_constraint WHERE contype = 'c' AND conrelid = 'seats'::regclass").Scan(&checks))
	if unique != 1 || notNull != 2 || checks != 0 {
		t.Errorf("%d constraints, %d columns NOT NULL, %d checks left, want 1, 2, 0", unique, notNull, checks)
	}
	if again := mustMake(t, d, file, nil); again.Enforced != 1 {
		t.Errorf("the second plan: %+v", again.Steps)
	}
	if len(p.Steps[0].Notes) != 1 || !strings.Contains(p.Steps[0].Notes[0], "unique index on (place)") {
		t.Errorf("notes %q do not say what the undo does not bring back", p.Steps[0].Notes)
	}
	run(t, d, p.Steps[0].Down)
	if undone := mustMake(t, d, file, nil); undone.Enforced != 0 {
		t.Error("the undo left the rule enforced")
	}
}

// While the plan runs, writers go on: none of its statements holds a lock that
// stops them but for a moment, which their patience of a second shows.
func TestWritersGoOn(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.PostgreSQL)
	d.Exec(t, schema(d.Dialect)...)
	d.Exec(t, "INSERT INTO seats (id, show_id, place) SELECT n, n / 100, 'S' || n FROM generate_series(1, 20000) AS n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var written, exclusive atomic.Int64
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := 100_000 + w*1_000_000 + i
				_, err := d.DB.ExecContext(ctx, "INSERT INTO seats (id, show_id, place) VALUES ($1, $1, 'x')", id)
				if err == nil {
					written.Add(1)
				} else if ctx.Err() == nil {
					t.Errorf("a writer was stopped: %v", err)
					return
				}
			}
		})
	}
	writers.Go(func() { // what is held while others could wait
		for ctx.Err() == nil {
			var n int64
			err := d.DB.QueryRowContext(ctx, `SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
				WHERE l.relation = 'seats'::regclass AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
				AND l.granted AND a.query ILIKE 'CREATE UNIQUE INDEX%'`).Scan(&n)
			if err == nil {
				exclusive.Add(n)
			}
		}
	})
	p := mustMake(t, d, parse(t, seats), nil)
	before := written.Load()
	apply(t, d, p)
	during := written.Load() - before
	cancel()
	writers.Wait()
	if during == 0 || exclusive.Load() != 0 {
		t.Errorf("%d rows were written while the index was built, %d strong locks were seen, want some and none", during, exclusive.Load())
	}
	if again := mustMake(t, d, parse(t, seats), nil); again.Enforced != 1 {
		t.Errorf("after writers: %+v", again.Steps)
	}
}
