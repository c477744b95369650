package dedupe_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/dialect"
)

const sqliteGuardObjects = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'semel\\_dedupe\\_guard\\_%' ESCAPE '\\'"

// In SQLite, each verb that is killed anywhere is completed by the next call, and no duplicate gets in once the guard is complete.
func TestKilledInSQLite(t *testing.T) {
	t.Parallel()
	b := in(t, dialect.SQLite)
	b.lateTables()
	q := once()
	p := b.plan("invoice", "lower(number)", q)
	file, before := b.write(p), b.state()
	stride := claimtest.Times(9, 6, 1)
	killed := map[string]int{}
	refuses := func(verb string, at int) bool {
		t.Helper()
		died := b.killed(verb, file, at)
		if died {
			killed[verb]++
		}
		b.refuses("INSERT INTO invoice (id, number) VALUES (9, 'C')")
		return died
	}
	for at, more := 2, true; more; at += stride {
		if more = b.killed("install", file, at); more {
			killed["install"]++
		}
		all, err := b.in.Guards(t.Context())
		noError(t, err)
		objects := b.text(sqliteGuardObjects)
		b.guard(p)
		if complete := b.text(sqliteGuardObjects); len(all) == 0 && objects != "0" || more && len(all) == 1 && all[0].State == "installed" && objects != complete {
			t.Errorf("killed at statement %d, %s objects of %s are there and the guards are %+v", at, objects, complete, all)
		}
		run := b.merge(p).Run
		more = refuses("finish", at) || more
		b.finish(p)
		b.want("SELECT concat(count(*), '/', (SELECT count(*) FROM sqlite_schema WHERE name = 'once')) FROM sqlite_schema WHERE name LIKE 'semel_dedupe_guard_invoice%'", "0/1")
		more = refuses("undo", at) || more
		if b.text("SELECT count(*) FROM semel_dedupe_run WHERE undone_at IS NULL") == "1" {
			b.undoWithIndex(run)
		}
		b.refuses("INSERT INTO invoice (id, number) VALUES (9, 'C')")
		if b.killed("remove", file, at) {
			killed["remove"]++
			_, err = b.in.RemoveGuard(t.Context(), "", "")
			noError(t, err)
		}
		if b.state() != before || b.text("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'semel_dedupe_guard_invoice%'") != "0" {
			t.Fatalf("killed at statement %d, the undo leaves another state", at)
		}
	}
	if killed["install"] < 3 || killed["finish"] < 3 || killed["undo"] < 3 || killed["remove"] < 2 {
		t.Errorf("the verbs were killed this often: %v", killed)
	}
}

// sqliteWriters are clients of an application with a file.
type sqliteWriters struct {
	*bench

	stop                          atomic.Bool
	next, invoices, line, refused atomic.Int64
	// hold is locked by a writer while it knows a key that it has read.
	hold sync.RWMutex
	done sync.WaitGroup
}

func (w *sqliteWriters) step(random *rand.Rand, groups int) {
	id := w.next.Add(1)
	if random.IntN(3) == 0 {
		w.write(&w.invoices, "INSERT INTO invoice (id, number) VALUES (?, ?)", id, fmt.Sprintf("%s-%d", []string{"n", "N"}[random.IntN(2)], random.IntN(2*groups)))
		return
	}
	w.hold.RLock()
	defer w.hold.RUnlock()
	var invoice int64
	if err := w.DB.QueryRowContext(w.Context(), "SELECT id FROM invoice WHERE merged_into IS NULL AND id >= ? ORDER BY id LIMIT 1", random.IntN(3*groups)).Scan(&invoice); err != nil {
		w.Error(err)
		return
	}
	w.write(&w.line, "INSERT INTO line (id, invoice_id, amount) VALUES (?, ?, 1)", id, invoice)
}

// write counts what was added. Only a duplicate may be refused.
func (w *sqliteWriters) write(counter *atomic.Int64, statement string, args ...any) {
	_, err := w.DB.ExecContext(w.Context(), statement, args...)
	switch {
	case err == nil:
		counter.Add(1)
	case strings.Contains(err.Error(), "UNIQUE constraint failed: index 'once'"):
		w.refused.Add(1)
	default:
		w.Errorf("%s: %v", statement, err)
	}
}

// In SQLite, writers at full speed lose nothing and let no duplicate in while guard, run, finish and undo go by.
func TestWritersInSQLite(t *testing.T) {
	t.Parallel()
	w := &sqliteWriters{bench: in(t, dialect.SQLite)}
	groups := 300
	w.exec("CREATE TABLE invoice (id INTEGER PRIMARY KEY, number TEXT, merged_into INTEGER)", "CREATE TABLE line (id INTEGER PRIMARY KEY, invoice_id INTEGER NOT NULL REFERENCES invoice (id), amount INTEGER)",
		"CREATE INDEX line_invoice ON line (invoice_id)")
	w.fill("invoice", 3*groups, func(i int) string { return fmt.Sprintf("%d, 'n-%d', NULL", i, i%groups) })
	w.fill("line", 3*groups, func(i int) string { return fmt.Sprintf("%d, %[1]d, 1", i) })
	w.next.Store(1_000_000)
	q := once()
	for i := range 4 {
		w.done.Go(func() {
			for random := rand.New(rand.NewPCG(uint64(i), 1)); !w.stop.Load() && !w.Failed(); {
				w.step(random, groups)
			}
		})
	}
	const (
		extra = "SELECT count(*) - count(DISTINCT lower(number)) FROM invoice WHERE merged_into IS NULL"
		late  = "SELECT count(*) FROM line AS l JOIN invoice AS i ON i.id = l.invoice_id WHERE i.merged_into IS NOT NULL"
		old   = "SELECT group_concat(concat(i.id, '-', i.number, '-', coalesce(i.merged_into, ''), '-', l.invoice_id)) FROM invoice AS i JOIN line AS l ON l.id = i.id WHERE i.id < 1000000"
	)
	p, before := w.plan("invoice", "lower(number)", q), w.text(old)
	w.guard(p)
	duplicates := w.text(extra)
	run := w.merge(p).Run
	w.want(extra, "0")
	w.want(late, "0")
	flushed := false
	w.in.Before(func(statement string) {
		if !flushed && strings.HasPrefix(statement, "CREATE UNIQUE INDEX") {
			flushed = true
			w.hold.Lock()
			w.hold.Unlock() //nolint:staticcheck // no writer knows a key that it read before the run.
		}
	})
	if done := w.finish(p); !done.Built || !done.Guard {
		t.Errorf("finished: %+v", done)
	}
	w.in.Before(nil)
	w.want(extra, "0")
	w.want(late, "0")
	w.undoWithIndex(run)
	w.want(extra, duplicates)
	w.stop.Store(true)
	w.done.Wait()
	if after := w.text(old); after != before {
		t.Error("the undo leaves other rows than there were")
	}
	w.want("SELECT concat((SELECT count(*) FROM invoice WHERE id > 1000000), '/', count(*), '/', sum(amount)) FROM line WHERE id > 1000000", fmt.Sprintf("%d/%d/%[2]d", w.invoices.Load(), w.line.Load()))
	if w.invoices.Load() == 0 || w.line.Load() == 0 || w.refused.Load() == 0 {
		t.Errorf("%d invoices and %d lines were added, %d statements refused", w.invoices.Load(), w.line.Load(), w.refused.Load())
	}
	t.Logf("%d invoices and %d lines were added, %d statements refused", w.invoices.Load(), w.line.Load(), w.refused.Load())
}
