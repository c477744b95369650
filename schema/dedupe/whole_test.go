package dedupe_test

import (
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/schema/dedupe"
)

// obstacle keeps a group from coming back: how it gets in the way and goes away, and the reason that the report gives.
type obstacle struct {
	put, remove []string
	reason      string
}

// wholeGroup wants an undo to leave group 1 merged as a whole, to report it once with the reason, and to take the other groups back;
// and everything when the obstacle is gone.
func (b *bench) wholeGroup(p *dedupe.Plan, winner string, o obstacle, others ...string) {
	b.Helper()
	before := b.state()
	run := b.merge(p).Run
	b.exec(o.put...)
	blocked := b.state()
	for _, target := range []dedupe.Target{{Run: run, Group: 1}, {Run: run}} {
		report, err := b.undoPart(target)
		noError(b, err)
		if len(report.Kept) != 1 || strings.ReplaceAll(report.Kept[0].Key, "'", "") != winner || !strings.Contains(report.Kept[0].Reason, "group 1 stays merged: ") || !strings.Contains(report.Kept[0].Reason, o.reason) {
			b.Errorf("the undo of %+v keeps %+v, want %s with %q", target, report.Kept, winner, o.reason)
		}
		if target.Group == 1 && b.state() != blocked {
			b.Error("the undo changes something of a group that stays merged")
		}
	}
	b.want(others[0], others[1])
	b.want("SELECT count(*) FROM semel_dedupe_run WHERE undone_at IS NULL", "1")
	b.exec(o.remove...)
	b.undo(run)
	b.restored(before)
	b.want("SELECT count(*) FROM semel_dedupe_run WHERE undone_at IS NULL", "0")
}

// Nothing of a group goes to a row that has taken a key since, whether it is a loser's or that of a child, and no balance is there twice.
func TestUndoOfWholeGroups(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]obstacle{
		"key":            {[]string{"INSERT INTO customer VALUES ('t', 'b', 'eve', 'B9', 0, 1)", "INSERT INTO invoice VALUES (9, 't', 'b', 7)"}, []string{"DELETE FROM invoice WHERE id = 9", "DELETE FROM customer WHERE email = 'eve'"}, `customer: its key belongs to another row now`},
		"key of a child": {[]string{"INSERT INTO line VALUES (20, 't', 'c', 9)", "INSERT INTO note VALUES (900, 20)"}, []string{"DELETE FROM note WHERE id = 900", "DELETE FROM line WHERE id = 20"}, `line: its key belongs to another row now`},
		"unique value":   {[]string{"INSERT INTO customer VALUES ('t', 'z', 'eve', 'B2', 0, 1)"}, []string{"DELETE FROM customer WHERE email = 'eve'"}, `customer has the badge of the row`},
		"reference":      {[]string{"DELETE FROM city WHERE id = 2"}, []string{"INSERT INTO city VALUES (2)"}, "city"},
		"winner":         {[]string{"UPDATE customer SET balance = 16 WHERE code = 'a'"}, []string{"UPDATE customer SET balance = 15 WHERE code = 'a'"}, `customer: balance was changed since the merge`},
		"trigger":        {reason: "a trigger or a rule keeps 1 row of "},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			everywhere(t, func(b *bench) {
				b.customers()
				o := o
				if o.put == nil {
					o.put, o.remove = []string{b.by("CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; CREATE TRIGGER keep BEFORE UPDATE ON invoice FOR EACH ROW WHEN (old.id = 2) EXECUTE FUNCTION keep()",
						"CREATE TRIGGER keep BEFORE INSERT ON customer FOR EACH ROW SET new.code = if(new.code = 'b', 'q', new.code)", "CREATE TRIGGER keep BEFORE UPDATE ON invoice WHEN old.id = 2 BEGIN SELECT RAISE(IGNORE); END")}, []string{"DROP TRIGGER keep" + b.by(" ON invoice", "", "")}
				}
				b.wholeGroup(b.planCustomers(), b.by(`["t", "a"]`, `["t", "a"]`, `["t","a"]`), o, "SELECT code FROM customer WHERE email = 'bob' ORDER BY code", "c d")
			})
		})
	}
}

// customers makes two groups of customers with invoices, and lines that collide and have notes.
func (b *bench) customers() {
	b.Helper()
	const refers = "FOREIGN KEY (tenant, customer) REFERENCES customer (tenant, code)"
	b.exec("CREATE TABLE city (id int PRIMARY KEY)", "INSERT INTO city VALUES (1), (2)",
		"CREATE TABLE customer (tenant varchar(9), code varchar(9), email varchar(9), badge varchar(9) UNIQUE"+b.by("", "", " ON CONFLICT REPLACE")+", balance int NOT NULL, city int, PRIMARY KEY (tenant, code), FOREIGN KEY (city) REFERENCES city (id))",
		"CREATE TABLE invoice (id int PRIMARY KEY, tenant varchar(9), customer varchar(9), total int, "+refers+")",
		"CREATE TABLE line (id int PRIMARY KEY, tenant varchar(9), customer varchar(9), pos int, UNIQUE (tenant, customer, pos), "+refers+")",
		"CREATE TABLE note (id int PRIMARY KEY, line int NOT NULL, FOREIGN KEY (line) REFERENCES line (id))",
		"INSERT INTO customer VALUES ('t', 'a', 'ada', 'B1', 10, 1), ('t', 'b', 'ada', 'B2', 5, 2), ('t', 'c', 'bob', 'B3', 1, 1), ('t', 'd', 'bob', 'B4', 2, 1)",
		"INSERT INTO invoice VALUES (1, 't', 'a', 10), (2, 't', 'b', 5), (3, 't', 'd', 2)", "INSERT INTO line VALUES (10, 't', 'a', 1), (20, 't', 'b', 1), (30, 't', 'c', 1), (40, 't', 'd', 2)",
		"INSERT INTO note VALUES (100, 10), (200, 20)")
}

func (b *bench) planCustomers() *dedupe.Plan {
	b.Helper()
	q := request()
	q.Columns = []string{"balance=sum"}
	return b.plan("customer", "email", q)
}

// SQLite gives the greatest key to the next row when its row is deleted.
func TestUndoAfterSQLiteGaveTheKeyAgain(t *testing.T) {
	t.Parallel()
	b := wrap(t, databases.Open(t, dialect.SQLite))
	b.exec("CREATE TABLE customer (id INTEGER PRIMARY KEY, email text)", "CREATE TABLE payment (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL REFERENCES customer (id))",
		"INSERT INTO customer VALUES (1, 'ada'), (2, 'bob'), (3, 'ada'), (4, 'bob')", "INSERT INTO payment VALUES (1, 1), (2, 3), (3, 4)")
	b.wholeGroup(b.plan("customer", "email", request()), `["1"]`, obstacle{
		[]string{"INSERT INTO customer (email) VALUES ('eve')"}, []string{"DELETE FROM customer WHERE email = 'eve'"}, "its key belongs to another row now",
	}, "SELECT id FROM customer WHERE email = 'bob' ORDER BY id", "2 4")
}

// A loser that a writer took the mark from, or deleted, keeps its group merged.
func TestUndoOfWholeMarkedGroups(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]obstacle{
		"mark":    {[]string{"UPDATE invoice SET merged_into = NULL WHERE id = 2"}, []string{"UPDATE invoice SET merged_into = 1 WHERE id = 2"}, "invoice: merged_into was changed since the merge"},
		"deleted": {[]string{"DELETE FROM line WHERE id = 20"}, []string{"INSERT INTO line (id, invoice_id, pos, merged_into) VALUES (20, 2, 1, 10)"}, "line: it was deleted since the merge"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			late(t, func(b *bench) {
				b.wholeGroup(b.plan("invoice", "lower(number)", marking()), `["1"]`, o, "SELECT count(*) FROM invoice WHERE id > 2 AND merged_into IS NULL", "3")
			})
		})
	}
}

// The losers of a winner that was changed since come back one by one; the winner keeps what it has, and the run ends.
func TestUndoOneByOneAfterTheWinnerChanged(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.customers()
		run := b.merge(b.planCustomers()).Run
		b.exec("UPDATE customer SET balance = 20 WHERE code = 'a'")
		report, err := b.undoPart(dedupe.Target{Run: run, Record: "t,b"})
		if noError(b, err); len(report.Kept) > 0 {
			b.Errorf("the undo keeps %+v", report.Kept)
		}
		b.want("SELECT balance FROM customer WHERE email = 'ada' ORDER BY code", "20 5")
		report, err = b.undoPart(dedupe.Target{Run: run})
		if noError(b, err); len(report.Kept) != 1 || report.Kept[0].Reason != "balance was changed since the merge" {
			b.Errorf("the undo keeps %+v", report.Kept)
		}
		b.want("SELECT balance FROM customer ORDER BY code", "20 5 1 2")
		b.want("SELECT count(*) FROM semel_dedupe_run WHERE undone_at IS NULL", "0")
	})
}
