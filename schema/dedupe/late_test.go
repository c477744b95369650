package dedupe_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/schema/dedupe"
)

// late runs a test in databases of marked invoices, lines that can collide, notes on lines, and payments that two invoices share.
func late(t *testing.T, test func(b *bench)) {
	t.Helper()
	everywhere(t, func(b *bench) {
		b.lateTables()
		test(b)
	})
}

func (b *bench) lateTables() {
	b.Helper()
	live := b.by("", ", live int AS (CASE WHEN merged_into IS NULL THEN 1 END) VIRTUAL", "")
	b.exec("CREATE TABLE invoice (id int PRIMARY KEY, number varchar(20), total int, merged_into int)",
		"CREATE TABLE line (id int PRIMARY KEY, invoice_id int NOT NULL REFERENCES invoice (id), pos int, merged_into int"+live+")",
		"CREATE UNIQUE INDEX line_pos ON line (invoice_id, pos"+b.by(") WHERE merged_into IS NULL", ", live)", ") WHERE merged_into IS NULL"),
		"CREATE TABLE note (id int PRIMARY KEY, line_id int NOT NULL REFERENCES line (id))", "CREATE TABLE payment (id int PRIMARY KEY, invoice_id int REFERENCES invoice (id), other_id int REFERENCES invoice (id))",
		"INSERT INTO invoice (id, number, total) VALUES (1, 'a', 10), (2, 'A', 20), (3, 'b', 40), (4, 'B', 80), (5, 'c', 160)",
		"INSERT INTO line (id, invoice_id, pos) VALUES (10, 1, 1), (11, 1, 3), (20, 2, 1), (30, 3, 1), (40, 4, 2)", "INSERT INTO note VALUES (100, 10), (200, 20)", "INSERT INTO payment VALUES (1000, 2, 5), (2000, 5, 4)")
}

func (b *bench) lateRows() *dedupe.Report {
	b.Helper()
	report := b.try(b.plan("invoice", "lower(number)", marking()))
	if report.Merged != 0 || len(report.Late) > 0 {
		b.Fatalf("the sweep: %+v", report)
	}
	return report
}

// What a merge does not move makes no winner: a reference of another condition, and a line that is merged.
func TestMostChildren(t *testing.T) {
	t.Parallel()
	late(t, func(b *bench) {
		b.exec("CREATE TABLE att (id int PRIMARY KEY, owner_id int, owner_type varchar(9))", "INSERT INTO att VALUES (1, 1, 'order'), (2, 3, 'invoice'), (3, 3, 'invoice')", "UPDATE line SET merged_into = 10 WHERE id = 11")
		q := marking()
		q.Winner, q.References = "most-children", []string{"att.owner_id where owner_type = 'invoice'"}
		p := b.plan("invoice", "lower(number)", q)
		if got := fmt.Sprint(p.Samples, p.Children); !strings.Contains(got, `[["2"] ["1"]] [["3"] ["4"]]`) || !strings.Contains(got, b.full("line")+" invoice_id "+b.full("invoice")+" 2}") {
			b.Error("the plan has ", got)
		}
	})
}

// Rows that were added to merged rows move as if they had been there at the merge, and an undo takes them back.
func TestLateRows(t *testing.T) {
	t.Parallel()
	late(t, func(b *bench) {
		before := b.state()
		q := marking()
		q.Columns = []string{"total=sum"}
		p := b.plan("invoice", "lower(number)", q)
		run := b.merge(p).Run
		b.want("SELECT total FROM invoice WHERE merged_into IS NULL ORDER BY id", "30 120 160")
		b.exec("INSERT INTO line (id, invoice_id, pos) VALUES (50, 2, 3), (51, 2, 2), (52, 4, 1)", "INSERT INTO note VALUES (300, 20), (301, 50)", "INSERT INTO payment VALUES (3000, 2, 4), (3001, NULL, 5)")
		report := b.lateRows()
		if report.Run != 0 || report.Swept != 6 {
			b.Errorf("the sweep: %+v", report)
		}
		b.want("SELECT concat(id, '@', invoice_id) FROM line WHERE merged_into IS NULL ORDER BY id", "10@1 11@1 30@3 40@3 51@1")
		b.want("SELECT concat(id, '@', line_id) FROM note ORDER BY id", "100@10 200@10 300@10 301@11")
		b.want("SELECT concat(id, '@', coalesce(invoice_id, 0), '@', other_id) FROM payment ORDER BY id", "1000@1@5 2000@5@3 3000@1@3 3001@0@5")
		b.want("SELECT total FROM invoice WHERE merged_into IS NULL ORDER BY id", "30 120 160")
		if report = b.lateRows(); report.Swept != 0 {
			b.Errorf("a second sweep: %+v", report)
		}
		b.undo(run)
		b.want("SELECT concat(id, '@', invoice_id) FROM line WHERE id >= 50 ORDER BY id", "50@2 51@2 52@4")
		b.want("SELECT concat(id, '@', line_id) FROM note WHERE id >= 300 ORDER BY id", "300@20 301@50")
		b.want("SELECT concat(invoice_id, '@', other_id) FROM payment WHERE id = 3000", "2@4")
		b.exec("DELETE FROM note WHERE id >= 300", "DELETE FROM line WHERE id >= 50", "DELETE FROM payment WHERE id >= 3000")
		b.restored(before)
	})
}

// A reference that the merge moved and a writer set back is moved again; an undo knows what it was at first, and what it was then.
func TestLateRowsThatMovedBefore(t *testing.T) {
	t.Parallel()
	late(t, func(b *bench) {
		b.exec("INSERT INTO invoice (id, number) VALUES (6, 'A')", "INSERT INTO payment VALUES (4000, 2, 6)")
		run := b.merge(b.plan("invoice", "lower(number)", marking())).Run
		b.exec("UPDATE payment SET invoice_id = 2 WHERE id = 1000", "UPDATE payment SET invoice_id = 6 WHERE id = 4000")
		if report := b.lateRows(); report.Swept != 2 {
			b.Errorf("the sweep: %+v", report)
		}
		b.want("SELECT concat(invoice_id, '@', other_id) FROM payment WHERE id IN (1000, 4000) ORDER BY id", "1@5 1@1")
		b.undo(run)
		b.want("SELECT concat(invoice_id, '@', other_id) FROM payment WHERE id IN (1000, 4000) ORDER BY id", "2@5 6@6")
	})
}

// A sweep that adds to a winner once more leaves one entry of it: an undo takes both back, and a change by a writer keeps the group.
func TestLateRowsOfOneWinner(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec("CREATE TABLE cart (id int PRIMARY KEY, owner varchar(9), merged_into int)", "CREATE TABLE item (id int PRIMARY KEY, cart_id int NOT NULL REFERENCES cart (id), sku int, amount int NOT NULL, UNIQUE (cart_id, sku))",
			"INSERT INTO cart (id, owner) VALUES (1, 'ada'), (2, 'ada'), (3, 'ada'), (4, 'ada')", "INSERT INTO item VALUES (10, 1, 7, 1), (20, 2, 7, 2)")
		q := marking()
		q.Columns = []string{"item.amount=sum"}
		p := b.plan("cart", "owner", q)
		run := b.merge(p).Run
		for i, want := range []string{"10@7", "10@15"} {
			b.exec(fmt.Sprintf("INSERT INTO item VALUES (%d, %d, 7, %d)", 30+i, 3+i, 4<<i))
			if report := b.try(p); report.Swept != 1 {
				b.Fatalf("the sweep: %+v", report)
			}
			b.want("SELECT concat(id, '@', amount) FROM item", want)
		}
		b.exec("UPDATE item SET amount = 16 WHERE id = 10")
		report, err := b.undoPart(dedupe.Target{Run: run})
		if noError(b, err); len(report.Kept) != 1 || !strings.Contains(report.Kept[0].Reason, "amount was changed since the merge") {
			b.Errorf("the undo keeps %+v", report.Kept)
		}
		b.exec("UPDATE item SET amount = 15 WHERE id = 10")
		report, err = b.undoPart(dedupe.Target{Run: run})
		if noError(b, err); len(report.Kept) > 0 {
			b.Errorf("the undo keeps %+v", report.Kept)
		}
		b.want("SELECT concat(id, '@', amount) FROM item ORDER BY id", "10@1 20@2 30@4 31@8")
	})
}

// A row that was merged again leads to the last one; what refers to a merged row that nothing has taken the place of stays.
func TestLateRowsOfLaterRuns(t *testing.T) {
	t.Parallel()
	late(t, func(b *bench) {
		b.merge(b.plan("invoice", "lower(number)", marking()))
		b.exec("UPDATE invoice SET number = 'b' WHERE id = 1")
		b.merge(b.plan("invoice", "lower(number)", marking()))
		b.exec("INSERT INTO payment VALUES (3000, 2, NULL), (3001, 4, NULL), (3002, 3, NULL)")
		if report := b.lateRows(); report.Swept != 3 {
			b.Errorf("the sweep: %+v", report)
		}
		b.want("SELECT DISTINCT invoice_id FROM payment WHERE id >= 3000", "1")
		b.exec("INSERT INTO payment VALUES (4000, 2, NULL)", "DELETE FROM note", "DELETE FROM payment WHERE 1 IN (invoice_id, other_id)", "DELETE FROM line", "DELETE FROM invoice WHERE id = 1")
		report := b.try(b.plan("invoice", "lower(number)", marking()))
		if report.Swept != 0 || len(report.Late) != 1 || !strings.Contains(report.Late[0].Reason, "is gone") {
			b.Errorf("the sweep: %+v", report)
		}
	})
}

// Declared references to deleted rows are late rows as well, but not those to a new row with the old key.
func TestLateRowsOfDeletedRows(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec("CREATE TABLE invoice (id int PRIMARY KEY, number varchar(20))", "CREATE TABLE attachment (id int PRIMARY KEY, owner_id int, owner_type varchar(20))",
			"INSERT INTO invoice VALUES (1, 'a'), (2, 'a'), (3, 'b'), (4, 'b')", "INSERT INTO attachment VALUES (10, 2, 'invoice'), (20, 2, 'person')")
		q := request()
		q.References = []string{"attachment.owner_id where owner_type = 'invoice'"}
		run := b.merge(b.plan("invoice", "number", q)).Run
		b.exec("INSERT INTO invoice VALUES (4, 'new')", "INSERT INTO attachment VALUES (30, 2, 'invoice'), (31, 4, 'invoice'), (32, 2, 'person')")
		if report := b.try(b.plan("invoice", "number", q)); report.Swept != 1 {
			b.Errorf("the sweep: %+v", report)
		}
		b.want("SELECT concat(id, '@', owner_id) FROM attachment ORDER BY id", "10@1 20@2 30@1 31@4 32@2")
		_, err := b.undoPart(dedupe.Target{Run: run, Record: "2"})
		noError(b, err)
		b.want("SELECT concat(id, '@', owner_id) FROM attachment ORDER BY id", "10@2 20@2 30@2 31@4 32@2")
	})
}

// Under the guard no late row comes into being.
func TestRedirect(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.lateTables()
		p := b.plan("invoice", "lower(number)", marking())
		b.guard(p)
		before := b.state()
		run := b.merge(p).Run
		b.exec("INSERT INTO line (id, invoice_id, pos) VALUES (51, 2, 2)", "INSERT INTO note VALUES (300, 20)", "INSERT INTO payment VALUES (3000, 2, 4), (3001, NULL, 5)", "UPDATE payment SET invoice_id = 2, other_id = 4 WHERE id = 1000")
		b.want("SELECT invoice_id FROM line WHERE id = 51", "1")
		b.want("SELECT line_id FROM note WHERE id = 300", "10")
		b.want("SELECT concat(coalesce(invoice_id, 0), '@', other_id) FROM payment WHERE id <> 2000 ORDER BY id", "1@3 1@3 0@5")
		if report := b.lateRows(); report.Swept != 0 {
			b.Errorf("the sweep: %+v", report)
		}
		b.exec("DELETE FROM note WHERE id >= 300", "DELETE FROM line WHERE id >= 50", "DELETE FROM payment WHERE id >= 3000", "UPDATE payment SET other_id = 5 WHERE id = 1000")
		b.undo(run)
		b.restored(before)
	})
}

// A writer that meets a merge waits for it, and then refers to the row that has the place.
func TestRedirectWaits(t *testing.T) {
	t.Parallel()
	guarded(t, func(b *bench) {
		b.lateTables()
		p := b.plan("invoice", "lower(number)", marking())
		b.guard(p)
		writer := make(chan string, 1)
		started := false
		b.in.Before(func(statement string) {
			if started || !strings.HasPrefix(statement, "UPDATE semel_dedupe_map SET state = 1") {
				return
			}
			started = true
			go func() { writer <- b.code("INSERT INTO payment VALUES (3000, 2, NULL)") }()
			testserver.Eventually(b.T, "the writer waits", func() bool { return b.waiting() == 1 })
		})
		if report := b.merge(p); report.Swept != 0 {
			b.Errorf("the run had to move what the writer wrote: %+v", report)
		}
		if got := <-writer; got != "" {
			b.Errorf("the writer gets %q", got)
		}
		b.want("SELECT invoice_id FROM payment WHERE id = 3000", "1")
	})
}
