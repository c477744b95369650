package dedupe_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dedupe"
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

// What was changed or deleted after the merge is reported and kept, and the rest is restored.
func TestUndoKeepsWhatChanged(t *testing.T) {
	t.Parallel()
	shops(t, func(b *bench) {
		run := b.merged()
		b.exec("UPDATE customer SET phone = '77' WHERE id = 1", "UPDATE orders SET customer_id = 4 WHERE id = 20", "DELETE FROM orders WHERE id = 50", "INSERT INTO orders VALUES (60, 1, 32)", "INSERT INTO customer VALUES (3, 'new', NULL)")
		report, err := b.undoPart(dedupe.Target{Run: run})
		noError(b, err)
		got := strings.ReplaceAll(fmt.Sprint(report.Kept), "'", "")
		for _, want := range []string{
			`{` + b.full("customer") + ` ["1"] phone is 77, and the merge wrote 1}`, `{` + b.full("orders") + ` ["20"] customer_id is 4, and the merge wrote 1}`,
			`{` + b.full("orders") + ` ["50"] it was deleted since the merge}`, `{` + b.full("customer") + ` ["3"] its key belongs to another row now}`,
		} {
			if !strings.Contains(got, want) {
				b.Errorf("the undo does not report %s: %s", want, got)
			}
		}
		b.want("SELECT concat(id, coalesce(phone, '')) FROM customer ORDER BY id", "177 21 3 4 59")
		b.want("SELECT concat(id, '@', customer_id) FROM orders ORDER BY id", "10@1 20@4 30@3 40@4 60@1")
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
