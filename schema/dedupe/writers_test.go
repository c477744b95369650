package dedupe_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/schema/dedupe"
)

// writers are clients of an application. They add invoices under numbers for which they compete, and lines to invoices that
// they have read, and let lines refer to other invoices.
type writers struct {
	*bench

	groups         int
	stop           atomic.Bool
	done           sync.WaitGroup
	invoices, line atomic.Int64 // those that were added
	refused        atomic.Int64
	next           atomic.Int64
	// hold is locked by a writer while it knows a key that it has read.
	hold sync.RWMutex
}

func (b *bench) startWriters(n, groups int) *writers {
	b.Helper()
	w := &writers{bench: b, groups: groups}
	w.next.Store(1_000_000)
	for i := range n {
		w.done.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 1))
			for !w.stop.Load() && !b.Failed() {
				w.step(random)
			}
		})
	}
	return w
}

func (w *writers) step(random *rand.Rand) {
	id := w.next.Add(1)
	if random.IntN(3) == 0 {
		number := fmt.Sprintf("%s-%d", []string{"n", "N"}[random.IntN(2)], random.IntN(2*w.groups))
		if w.write("INSERT INTO invoice (id, number) VALUES (%d, '%s')", id, number) {
			w.invoices.Add(1)
		}
		return
	}
	w.hold.RLock()
	defer w.hold.RUnlock()
	var invoice int64
	query := fmt.Sprintf("SELECT id FROM invoice WHERE merged_into IS NULL AND id >= %d ORDER BY id LIMIT 1", random.IntN(3*w.groups))
	if err := w.DB.QueryRowContext(w.Context(), query).Scan(&invoice); err != nil {
		w.Error(err)
		return
	}
	if random.IntN(4) == 0 {
		w.write("UPDATE line SET invoice_id = %d WHERE "+w.by("id = (SELECT min(id) FROM line WHERE id > %d)", "id > %d ORDER BY id LIMIT 1", "id = (SELECT min(id) FROM line WHERE id > %d)"), invoice, 1_000_000+random.IntN(1000))
	} else if w.write("INSERT INTO line (id, invoice_id, pos, amount) VALUES (%d, %d, %[1]d, 1)", id, invoice) {
		w.line.Add(1)
	}
}

// write reports whether a statement was done. It may be refused as a duplicate, or meet a deadlock.
func (w *writers) write(statement string, args ...any) bool {
	statement = fmt.Sprintf(statement, args...)
	code := w.code(statement)
	if code == "" {
		return true
	}
	if code != w.by("40P01", "1213", "") && code != w.same("once") {
		w.Errorf("%s: %s", statement, code)
	}
	w.refused.Add(1)
	return false
}

// undoButOwn takes a run back; it may leave the lines alone that the writers have let refer to other invoices since.
func (w *writers) undoButOwn(run int64) {
	w.Helper()
	report, err := w.undoPart(dedupe.Target{Run: run, DropIndex: true})
	noError(w.T, err)
	for _, k := range report.Kept {
		if k.Table != w.full("line") || len(k.Key) != len(`["1000000"]`) {
			w.Errorf("the undo keeps %+v", k)
		}
	}
}

// old is a digest of the rows that were there before the writers.
func (w *writers) old() string {
	w.Helper()
	return w.text(w.by("SELECT (SELECT md5(string_agg(i::text, ' ' ORDER BY id)) FROM invoice AS i WHERE id < 1000000) || (SELECT md5(string_agg(l::text, ' ' ORDER BY id)) FROM line AS l WHERE id < 1000000)",
		"SELECT concat((SELECT md5(group_concat(concat_ws(',', id, number, coalesce(merged_into, '-')) ORDER BY id)) FROM invoice WHERE id < 1000000),"+
			" (SELECT md5(group_concat(concat_ws(',', id, invoice_id, pos, amount, coalesce(merged_into, '-')) ORDER BY id)) FROM line WHERE id < 1000000))",
		"SELECT concat((SELECT group_concat(concat_ws(',', id, number, coalesce(merged_into, '-')) ORDER BY id) FROM invoice WHERE id < 1000000),"+
			" (SELECT group_concat(concat_ws(',', id, invoice_id, pos, amount, coalesce(merged_into, '-')) ORDER BY id) FROM line WHERE id < 1000000))"))
}

// Writers at full speed see neither the guard come, nor the run, nor the index, nor the undo: no duplicate is new, no row refers
// to a merged one, and none is lost.
func TestWritersAllTheWay(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		live := b.by("", ", live int AS (CASE WHEN merged_into IS NULL THEN 1 END) VIRTUAL", "")
		b.exec("CREATE TABLE invoice (id bigint PRIMARY KEY, number varchar(20), merged_into bigint)",
			"CREATE TABLE line (id bigint PRIMARY KEY, invoice_id bigint NOT NULL, pos bigint, amount int, merged_into bigint"+live+", FOREIGN KEY (invoice_id) REFERENCES invoice (id))",
			"CREATE UNIQUE INDEX line_pos ON line (invoice_id, pos"+b.by(") WHERE merged_into IS NULL", ", live)", ") WHERE merged_into IS NULL"))
		groups, rounds := claimtest.Times(200, 500, 1000), claimtest.Times(1, 1, 2)
		b.fill("invoice (id, number)", 3*groups, func(i int) string { return fmt.Sprintf("%d, 'n-%d'", i, i%groups) })
		b.exec("INSERT INTO line (id, invoice_id, pos, amount) SELECT id, id, id % 2, 1 FROM invoice", "ANALYZE"+b.by("", " TABLE invoice, line", ""))
		w := b.startWriters(4, groups)
		for range rounds {
			w.round()
		}
		w.stop.Store(true)
		w.done.Wait()
		b.want("SELECT count(*) FROM invoice WHERE id > 1000000", fmt.Sprint(w.invoices.Load()))
		b.want("SELECT concat(count(*), '/', sum(amount)) FROM line WHERE id > 1000000 AND merged_into IS NULL", fmt.Sprintf("%d/%d", w.line.Load(), w.line.Load()))
		if w.invoices.Load() == 0 || w.line.Load() == 0 || w.refused.Load() == 0 {
			b.Errorf("%d invoices and %d lines were added, %d statements refused", w.invoices.Load(), w.line.Load(), w.refused.Load())
		}
		b.Logf("%d invoices and %d lines were added, %d statements refused", w.invoices.Load(), w.line.Load(), w.refused.Load())
	})
}

// round goes all the way while the writers write.
func (w *writers) round() {
	w.Helper()
	const (
		extra = "SELECT count(*) - count(DISTINCT lower(number)) FROM invoice WHERE merged_into IS NULL"
		late  = "SELECT count(*) FROM line AS l JOIN invoice AS i ON i.id = l.invoice_id WHERE i.merged_into IS NOT NULL AND l.merged_into IS NULL"
	)
	q := once()
	before := w.old()
	p := w.plan("invoice", "lower(number)", q)
	w.guard(p)
	duplicates := w.text(extra)
	run := w.merge(p).Run
	testserver.Eventually(w.T, "the guard refuses writers", func() bool { return w.Failed() || w.refused.Load() > 0 && w.invoices.Load() > 0 && w.line.Load() > 0 })
	w.want(extra, "0")
	w.want(late, "0")
	flushed := false
	w.in.Before(func(statement string) {
		if strings.HasPrefix(statement, w.by("DROP FUNCTION", "DROP TRIGGER", "CREATE UNIQUE INDEX")) && !flushed {
			flushed = true
			w.hold.Lock()
			w.hold.Unlock() //nolint:staticcheck // no writer knows a key that it read before the run.
		}
	})
	if done := w.finish(p); !done.Built || done.Swept != 0 {
		w.Errorf("finished: %+v", done)
	}
	w.in.Before(nil)
	w.want(extra, "0")
	w.want(late, "0")
	w.undoButOwn(run)
	w.want(extra, duplicates)
	w.want(late, "0")
	if after := w.old(); after != before {
		w.Error("the undo leaves other rows than there were")
	}
	_, err := w.in.RemoveGuard(w.Context(), "", "")
	noError(w.T, err)
}
