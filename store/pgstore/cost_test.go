package pgstore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// A duplicate that this process has met, and everything else that changes
// nothing, writes nothing: no log, and no lock in the row. One that it has not
// met counts up the sequence.
func TestWhatChangesNothingWritesNothing(t *testing.T) {
	t.Parallel()
	p := pool(t, testserver.Postgres(t), 1)
	s := newStore(t, p, &pgstore.Options{Schema: testserver.PostgresSchema(t)})
	rec := wins(t, s, params("k"))
	settles(t, s, rec, completed("x"))
	d := rec.Digest[:]
	var before, after string
	system := fmt.Sprintf("SELECT xmin || ' ' || xmax || ' ' || ctid || ' ' || (SELECT last_value FROM %[1]s.fence) FROM %[1]s.record WHERE digest = $1", quoted(s.SchemaName()))
	noError(t, p.QueryRow(t.Context(), system, d).Scan(&before))
	for name, args := range map[string][]any{
		"find":        {d},
		"find_batch":  {[][]byte{d}},
		"claim_again": {d, d[:16], d, 1, 1, "", "", int64(rec.Fence), true},
		"lookup":      {d},
		"renew":       {d, int64(rec.Fence), 1},
		"settle":      {d, int64(rec.Fence), "completed", true, []byte("y"), "", 1},
		"await":       {d},
		"settle_batch": {
			[][]byte{d},
			[]int64{int64(rec.Fence)},
			[]string{"completed"},
			[]bool{true},
			[][]byte{d},
			[]string{""},
			[]int64{1},
		},
		"sweep": {10, 10},
	} {
		wantSilent(t, p, s, name, args...)
	}
	if err := p.QueryRow(t.Context(), system, d).Scan(&after); err != nil || before != after {
		t.Errorf("the row was touched, or a fence was drawn: %s, then %s (error %v)", before, after, err)
	}
	awaited := wins(t, s, params("awaited")).Digest
	if _, err := p.Exec(t.Context(), s.Statement("await"), awaited[:]); err != nil {
		t.Fatal(err)
	}
	wantSilent(t, p, s, "await", awaited[:])
}

// wantSilent runs a statement, which must write nothing to the log. The first reader
// of a page that was updated may prune it, which is logged once.
func wantSilent(t *testing.T, p *pgxpool.Pool, s *pgstore.Store, name string, args ...any) {
	t.Helper()
	var plan string
	for range 3 {
		rows, err := p.Query(t.Context(), "EXPLAIN (ANALYZE, WAL) "+s.Statement(name), args...)
		noError(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if plan = strings.Join(lines, "\n"); !strings.Contains(plan, "WAL:") {
			return
		}
	}
	t.Errorf("%s.sql wrote to the log:\n%s", name, plan)
}

// What follows a claim stays on its page and changes no index.
func TestUpdatesStayOnTheirPage(t *testing.T) {
	t.Parallel()
	p := pool(t, testserver.Postgres(t), 1)
	s := newStore(t, p, &pgstore.Options{Schema: testserver.PostgresSchema(t)})
	tx, err := p.Begin(t.Context())
	noError(t, err)
	defer tx.Rollback(t.Context())
	const n = 100
	outcome := []byte(strings.Repeat("x", 300))
	updates := 0
	for i := range n {
		d := params(fmt.Sprint(i)).Digest
		run := func(name string, args ...any) {
			t.Helper()
			tag, err := tx.Exec(t.Context(), s.Statement(name), append([]any{d[:]}, args...)...)
			if err != nil || tag.RowsAffected() != 1 {
				t.Fatalf("%s: %v, error %v", name, tag, err)
			}
		}
		run("claim", make([]byte, 16), make([]byte, 32), 60000, 86400000, "alice POST /invoices", "0b9e2c1e-7f39-7c58-9a3e-0d6f5f4e7a10")
		run("await")
		run("renew", i+1, 60000)
		if i%2 == 0 {
			run("settle", i+1, "completed", true, outcome, "", 86400000)
		} else {
			run("settle", i+1, "released", false, nil, "", 0)
		}
		updates += 3
	}
	var hot, all int
	err = tx.QueryRow(t.Context(), `SELECT n_tup_hot_upd, n_tup_upd FROM pg_stat_xact_user_tables WHERE schemaname = $1 AND relname = 'record'`,
		s.SchemaName()).Scan(&hot, &all)
	if err != nil || all != updates || hot < all*95/100 {
		t.Errorf("%d of %d updates stayed on their page, error %v, want nearly all of %d", hot, all, err, updates)
	}
}

// Most of a replay's allocations are those of the driver for any query: the record adds a few.
func TestReplayAllocations(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts the whole process.
	const most = 20
	s := newStore(t, pool(t, testserver.Postgres(t), 1), &pgstore.Options{Schema: testserver.PostgresSchema(t)})
	rec := wins(t, s, params("k"))
	settles(t, s, rec, completed("x"))
	var err error
	if got := testing.AllocsPerRun(100, func() { _, _, err = s.Claim(t.Context(), params("k")) }); got > most || err != nil {
		t.Errorf("%v allocations, error %v, want at most %d", got, err, most)
	}
}
