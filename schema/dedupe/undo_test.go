package dedupe_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/schema/dedupe"
)

// shops runs a test in databases with two groups of customers and their orders.
func shops(t *testing.T, test func(b *bench)) {
	t.Helper()
	everywhere(t, func(b *bench) {
		b.exec("CREATE TABLE customer (id int PRIMARY KEY, email varchar(9), phone varchar(9))", "CREATE TABLE orders (id int PRIMARY KEY, customer_id int NOT NULL REFERENCES customer (id), total int)",
			"INSERT INTO customer VALUES (1, 'a', NULL), (2, 'a', '1'), (3, 'a', '2'), (4, 'b', NULL), (5, 'b', '9'); INSERT INTO orders VALUES (10, 1, 1), (20, 2, 2), (30, 3, 4), (40, 4, 8), (50, 5, 16)")
		test(b)
	})
}

func (b *bench) merged() int64 {
	b.Helper()
	q := request()
	q.Columns = []string{"phone=fill"}
	return b.merge(b.plan("customer", "email", q)).Run
}

func (b *bench) refused(err error, want string) {
	b.Helper()
	if !errors.Is(err, dedupe.ErrRefused) || !strings.Contains(err.Error(), want) {
		b.Errorf("got %v, want a refusal with %q", err, want)
	}
}

func (b *bench) undoPart(target dedupe.Target) (*dedupe.Undone, error) {
	b.Helper()
	return b.in.Undo(b.Context(), target, &dedupe.Options{By: "test"})
}

// A row that was moved and has left its group since is reported without its values, and stays as it is; the rest is restored.
func TestUndoKeepsWhatChanged(t *testing.T) {
	t.Parallel()
	shops(t, func(b *bench) {
		run := b.merged()
		b.exec("UPDATE orders SET customer_id = 4 WHERE id = 20", "DELETE FROM orders WHERE id = 50", "INSERT INTO orders VALUES (60, 1, 32)")
		report, err := b.undoPart(dedupe.Target{Run: run})
		noError(b, err)
		orders := b.full("orders")
		want := []dedupe.Kept{{Table: orders, Key: `["50"]`, Reason: "it was deleted since the merge"}, {Table: orders, Key: `["20"]`, Reason: "customer_id was changed since the merge"}}
		slices.SortFunc(report.Kept, func(a, b dedupe.Kept) int { return strings.Compare(b.Key, a.Key) })
		if !slices.Equal(report.Kept, want) {
			b.Errorf("the undo reports %+v, want %+v", report.Kept, want)
		}
		b.want("SELECT concat(id, coalesce(phone, '')) FROM customer ORDER BY id", "1 21 32 4 59")
		b.want("SELECT concat(id, '@', customer_id) FROM orders ORDER BY id", "10@1 20@4 30@3 40@4 60@1")
		b.want("SELECT count(*) FROM semel_dedupe_run WHERE undone_at IS NULL", "0")
	})
}

// A run whose winner was merged again is refused until that later run is undone.
func TestUndoInOrder(t *testing.T) {
	t.Parallel()
	shops(t, func(b *bench) {
		b.reversible(func() {
			first := b.merged()
			b.exec("ALTER TABLE customer ADD same int DEFAULT 1")
			second := b.merge(b.plan("customer", "same", request())).Run
			traces, err := b.in.Show(b.Context(), "customer", "5")
			noError(b, err)
			if len(traces) != 2 || traces[1].Winner != `["1"]` || traces[1].At.IsZero() {
				b.Errorf("the row 5 went to %+v", traces)
			}
			_, err = b.undoPart(dedupe.Target{Run: first})
			b.refused(err, fmt.Sprintf(`run %d merged the row ["4"] of %s`, second, b.full("customer")))
			b.undo(second)
			b.undo(first)
			b.exec("ALTER TABLE customer DROP COLUMN same")
			_, err = b.undoPart(dedupe.Target{Run: first})
			b.refused(err, "was undone already")
			all, err := b.in.Status(b.Context())
			if err != nil || len(all) != 2 || all[0].Run != second || all[0].Undone == nil || all[1].Restored != 3 {
				b.Errorf("the status is %+v, %v", all, err)
			}
		})
	})
}

// One record, and one group, come back on their own.
func TestUndoParts(t *testing.T) {
	t.Parallel()
	shops(t, func(b *bench) {
		b.reversible(func() {
			run := b.merged()
			for _, unknown := range []int64{99, -1} {
				_, err := b.undoPart(dedupe.Target{Run: run, Group: unknown})
				b.refused(err, fmt.Sprintf("did not merge a group %d of %s", unknown, b.full("customer")))
			}
			_, err := b.undoPart(dedupe.Target{Run: run, Record: "2"})
			noError(b, err)
			b.want("SELECT concat(id, '@', customer_id) FROM orders ORDER BY id", "10@1 20@2 30@1 40@4 50@4")
			_, err = b.undoPart(dedupe.Target{Run: run, Record: "2"})
			b.refused(err, "did not merge the row 2")
			_, err = b.undoPart(dedupe.Target{Run: run, Group: 2})
			noError(b, err)
			_, err = b.undoPart(dedupe.Target{Run: run, Group: 2, DropIndex: true})
			b.refused(err, "did not merge a group 2 of "+b.full("customer")+", or it was taken back")
			b.want("SELECT concat(id, '@', customer_id) FROM orders ORDER BY id", "10@1 20@2 30@1 40@4 50@5")
			b.undo(run)
			_, err = b.undoPart(dedupe.Target{Run: run + 1})
			b.refused(err, "is not known here")
		})
	})
}

// A unique index that was made since refuses the duplicates: it is named, and nothing is changed.
func TestUndoMeetsAnIndex(t *testing.T) {
	t.Parallel()
	shops(t, func(b *bench) {
		b.reversible(func() {
			run := b.merged()
			b.exec("CREATE UNIQUE INDEX one_email ON customer (email)")
			b.reversible(func() {
				report, err := b.undoPart(dedupe.Target{Run: run})
				noError(b, err)
				if len(report.Kept) != 2 || !strings.Contains(report.Kept[0].Reason, b.by("one_email", "one_email", "customer.email")) || report.Restored != 0 {
					b.Errorf("the undo restores %d rows and keeps %+v", report.Restored, report.Kept)
				}
			})
			b.exec(b.by("DROP INDEX one_email", "DROP INDEX one_email ON customer", "DROP INDEX one_email"))
			b.undo(run)
		})
	})
}

// A row that was added since and has the place of a loser keeps its group merged, and no other; it is named.
func TestUndoLeavesBlockedGroups(t *testing.T) {
	t.Parallel()
	late(t, func(b *bench) {
		before := b.state()
		p := b.plan("invoice", "lower(number)", marking())
		run := b.merge(p).Run
		b.exec("INSERT INTO line (id, invoice_id, pos) VALUES (60, 2, 1)")
		report, err := b.undoPart(dedupe.Target{Run: run})
		noError(b, err)
		want := fmt.Sprintf(`group 1 stays merged: the row ["60"] of %s has the invoice_id, pos of the row ["20"]`, b.full("line"))
		if len(report.Kept) != 1 || report.Kept[0].Table != b.full("invoice") || report.Kept[0].Key != `["1"]` || !strings.Contains(report.Kept[0].Reason, want) {
			b.Errorf("the undo keeps %+v, want %s", report.Kept, want)
		}
		b.want("SELECT concat(id, '>', coalesce(merged_into, 0)) FROM invoice ORDER BY id", "1>0 2>1 3>0 4>0 5>0")
		b.want("SELECT concat(invoice_id, '@', other_id) FROM payment ORDER BY id", "1@5 5@4")
		b.exec("DELETE FROM line WHERE id = 60")
		b.undo(run)
		b.restored(before)
		_, err = b.undoPart(dedupe.Target{Run: run})
		b.refused(err, "was undone already")
	})
}

// A row that two batches changed comes back in any order: of all at once, and of one group before the other.
func TestUndoOfSharedRows(t *testing.T) {
	t.Parallel()
	late(t, func(b *bench) {
		b.exec("INSERT INTO payment VALUES (5000, 2, 4)")
		p := b.plan("invoice", "lower(number)", marking())
		merge := func() int64 {
			b.Helper()
			_, err := b.in.Run(b.Context(), p, &dedupe.Options{By: "test", Limit: 1})
			noError(b, err)
			run := b.merge(p).Run
			b.want("SELECT concat(invoice_id, '@', other_id) FROM payment WHERE id = 5000", "1@3")
			return run
		}
		b.reversible(func() { b.undo(merge()) })
		b.reversible(func() {
			run := merge()
			report, err := b.undoPart(dedupe.Target{Run: run, Group: 1})
			if noError(b, err); len(report.Kept) > 0 {
				b.Errorf("the undo of a group keeps %+v", report.Kept)
			}
			b.want("SELECT concat(invoice_id, '@', other_id) FROM payment WHERE id = 5000", "2@3")
			b.undo(run)
		})
	})
}

// An undo of what was deleted from the audit is refused, and changes nothing; what is whole comes back.
func TestUndoOfPurged(t *testing.T) {
	t.Parallel()
	shops(t, func(b *bench) {
		run := b.merge(b.plan("customer", "email", request())).Run
		b.exec("DELETE FROM semel_dedupe_audit WHERE grp = 2")
		before := b.state()
		_, err := b.undoPart(dedupe.Target{Run: run})
		b.refused(err, "rows of "+b.full("customer")+" that this run merged: what was deleted there cannot come back")
		if b.state() != before || b.text("SELECT count(*) FROM semel_dedupe_run WHERE undone_at IS NULL") != "1" {
			b.Error("a refused undo changed something")
		}
		report, err := b.undoPart(dedupe.Target{Run: run, Group: 1})
		if err != nil || report.Restored == 0 {
			b.Errorf("the group that is whole: %+v, %v", report, err)
		}
	})
}

// BenchmarkUndo merges one group of 3,000 and one of 30,000 rows, each with a child that refers to it by another key than the
// primary one, and takes both back. What a row costs must not grow with the group, and an undo not cost twice a run.
func BenchmarkUndo(b *testing.B) {
	for _, d := range dialect.All() {
		b.Run(d.String(), func(b *testing.B) {
			var run, undo [2]time.Duration
			for b.Loop() {
				for i, n := range []int{3_000, 30_000} {
					one, two := mergeAndUndo(b, databases.Open(b, d), n)
					run[i], undo[i] = run[i]+one, undo[i]+two
				}
			}
			b.ReportMetric(float64(undo[1])/float64(run[1]), "undo/run")
			b.ReportMetric(float64(run[1])/float64(run[0])/10, "run-growth")
			b.ReportMetric(float64(undo[1])/float64(undo[0])/10, "undo-growth")
		})
	}
}

func mergeAndUndo(b *testing.B, d *databases.Database, n int) (run, undo time.Duration) {
	b.Helper()
	var persons, orders []string
	for i := range n {
		persons = append(persons, fmt.Sprintf("(%d, 'same', 'c%[1]d')", i))
		orders = append(orders, fmt.Sprintf("(%d, 'c%[1]d')", i))
	}
	d.Exec(b, "CREATE TABLE person (id int PRIMARY KEY, email varchar(9), code varchar(9) NOT NULL UNIQUE)", "CREATE TABLE orders (id int PRIMARY KEY, person varchar(9), FOREIGN KEY (person) REFERENCES person (code))",
		"CREATE INDEX orders_person ON orders (person)", "INSERT INTO person VALUES "+strings.Join(persons, ", "), "INSERT INTO orders VALUES "+strings.Join(orders, ", "))
	in := &dedupe.Database{DB: d.DB, Dialect: d.Dialect}
	u, err := dedupe.KeyRule("person", []string{"email"}, false)
	noError(b, err)
	p, err := in.Plan(b.Context(), u, request())
	noError(b, err)
	start := time.Now()
	report, err := in.Run(b.Context(), p, &dedupe.Options{By: "bench"})
	noError(b, err)
	merged := time.Now()
	_, err = in.Undo(b.Context(), dedupe.Target{Run: report.Run}, &dedupe.Options{By: "bench"})
	noError(b, err)
	return merged.Sub(start), time.Since(merged)
}
