package dedupe_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/schema/dedupe"
)

// persons makes four groups of persons, 1 and 2 to 7 and 8, whose bosses are persons, and notes whose writers and readers the
// database does not know.
func persons(t *testing.T, test func(b *bench)) {
	t.Helper()
	everywhere(t, func(b *bench) {
		b.exec("CREATE TABLE person (id int PRIMARY KEY, email varchar(9), boss int, FOREIGN KEY (boss) REFERENCES person (id))", "CREATE TABLE note (id int PRIMARY KEY, writer_id int, reader_id int)",
			"INSERT INTO person VALUES (1, 'a', NULL), (2, 'a', NULL), (3, 'b', NULL), (4, 'b', NULL), (5, 'c', NULL), (6, 'c', NULL), (7, 'd', NULL), (8, 'd', NULL)")
		test(b)
	})
}

func (b *bench) mergePersons() int64 {
	b.Helper()
	q := request()
	q.References = []string{"note.writer_id to person", "note.reader_id to person"}
	return b.merge(b.plan("person", "email", q)).Run
}

// keeps wants an undo to leave groups merged for these reasons, in their order.
func (b *bench) keeps(target dedupe.Target, reasons ...string) {
	b.Helper()
	report, err := b.undoPart(target)
	noError(b, err)
	var got []string
	for _, k := range report.Kept {
		got = append(got, k.Reason)
	}
	if len(got) != len(reasons) || slices.ContainsFunc(reasons, func(r string) bool { return !strings.Contains(strings.Join(got, "\n"), r) }) {
		b.Errorf("the undo of %+v keeps\n%s\nwant\n%s", target, strings.Join(got, "\n"), strings.Join(reasons, "\n"))
	}
}

// Nothing comes back that refers to a row which stays merged, or to a stranger with its key: the group of a deleted row, that of a
// row whose references two groups moved, and those that wait for them.
func TestUndoLetsNothingGoAstray(t *testing.T) {
	t.Parallel()
	persons(t, func(b *bench) {
		b.exec("UPDATE person SET boss = 2 WHERE id = 4", "INSERT INTO note VALUES (10, 6, 4)")
		before := b.state()
		run := b.mergePersons()
		b.exec("INSERT INTO person VALUES (2, 'eve', NULL)")
		merged := b.state()
		person, note := b.full("person"), b.full("note")
		b.keeps(dedupe.Target{Run: run, Group: 2}, `group 2 stays merged: the row ["4"] of `+person+" refers to a row of "+person+" in group 1, which stays merged")
		if b.state() != merged {
			b.Error("a group that stays merged has changed")
		}
		b.keeps(dedupe.Target{Run: run}, "group 1 stays merged: the row ", `group 2 stays merged: the row ["4"] of `+person+" refers to a row of "+person+" in group 1, which stays merged",
			`group 3 stays merged: the row ["10"] of `+note+" refers to a row of "+person+" in group 2, which stays merged")
		b.want("SELECT concat(id, email) FROM person ORDER BY id", "1a 2eve 3b 5c 7d 8d")
		b.want("SELECT concat(writer_id, '>', reader_id) FROM note", "5>3")
		b.exec("DELETE FROM person WHERE id = 2")
		b.undo(run)
		b.restored(before)
	})
}

// The same, where references name rows in another case, or are of another type.
func TestUndoLetsNothingGoAstrayByCase(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		if b.Dialect == dialect.PostgreSQL {
			b.exec("CREATE EXTENSION citext")
		}
		for i, c := range [][4]string{
			{b.by("citext", "varchar(9) COLLATE utf8mb4_general_ci", "uuid COLLATE nocase"), b.by("text", "varchar(9) COLLATE utf8mb4_bin", "uuid COLLATE nocase"), "'b'", "'B'"},
			{b.by("citext", "varchar(9) COLLATE utf8mb4_general_ci", "text COLLATE nocase"), b.by("text", "varchar(9) COLLATE utf8mb4_unicode_ci", "text COLLATE rtrim"), "'b'", "'B'"},
			{"int", "numeric(9, 2)", "2", "2.00"},
			{b.by("numeric", "numeric", "blob"), b.by("numeric", "numeric", "blob"), "2.0", b.by("2.00", "2.00", "2")},
		} {
			table, ids := fmt.Sprint("person", i), strings.NewReplacer()
			if c[0] == "blob" { // which makes no number of a text
				ids = strings.NewReplacer("'1'", "1", "'3'", "3", "'4'", "4")
			}
			b.exec("CREATE TABLE "+table+" (id "+c[0]+" PRIMARY KEY, email varchar(9), boss "+c[1]+")",
				ids.Replace("INSERT INTO "+table+" VALUES ('1', 'a', NULL), ("+c[2]+", 'a', NULL), ('3', 'b', NULL), ('4', 'b', "+c[3]+")"))
			before, q := b.state(), request()
			q.References = []string{table + ".boss to " + table}
			run := b.merge(b.plan(table, "email", q)).Run
			b.exec("INSERT INTO " + table + " VALUES (" + c[2] + ", 'eve', NULL)")
			b.keeps(dedupe.Target{Run: run}, "group 1 stays merged: the row ", `group 2 stays merged: the row ["`)
			b.exec("DELETE FROM " + table + " WHERE email = 'eve'")
			b.undo(run)
			b.restored(before)
			b.exec(ids.Replace("UPDATE "+table+" SET boss = "+c[3]+" WHERE id = '3'"), ids.Replace("UPDATE "+table+" SET email = 'c', boss = '4' WHERE id = "+c[2]))
			if report := b.try(b.plan(table, "email", q)); len(report.Refusals) != 1 || !strings.Contains(report.Refusals[0].Reason, "would close a circle") {
				b.Errorf("%v: a circle is not seen: %+v", c, report)
			}
		}
	})
}

// Groups whose rows refer to each other come back in one transaction, and none of them alone.
func TestUndoOfGroupsThatReferToEachOther(t *testing.T) {
	t.Parallel()
	persons(t, func(b *bench) {
		b.exec("INSERT INTO note VALUES (10, 2, 8), (20, 8, 2), (30, 4, 6)")
		before := b.state()
		run := b.mergePersons()
		_, err := b.undoPart(dedupe.Target{Run: run, Group: 1})
		b.refused(err, "group 1, group 4 come back together")
		b.undo(run)
		b.restored(before)
	})
}

// A group does not come back before a later one that has deleted a row which it moved.
func TestUndoWaitsForLaterGroups(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec("CREATE TABLE customer (id int PRIMARY KEY, email varchar(9))",
			"CREATE TABLE line (id int PRIMARY KEY, customer int, seller int, pos int, UNIQUE (customer, pos), FOREIGN KEY (customer) REFERENCES customer (id), FOREIGN KEY (seller) REFERENCES customer (id))",
			"INSERT INTO customer VALUES (1, 'a'), (2, 'a'), (3, 'b'), (4, 'b')", "INSERT INTO line VALUES (10, 3, 1, 1), (20, 4, 2, 1)")
		before := b.state()
		p := b.plan("customer", "email", request())
		_, err := b.in.Run(b.Context(), p, &dedupe.Options{By: "test", Limit: 1})
		noError(b, err)
		run := b.merge(p).Run
		b.want("SELECT concat(id, '>', customer, '>', seller) FROM line", "10>3>1")
		b.exec("INSERT INTO customer VALUES (4, 'eve')")
		b.keeps(dedupe.Target{Run: run}, `group 1 stays merged: the row ["20"] of `+b.full("line")+" was changed once more by group 2, which stays merged", "group 2 stays merged: the row ")
		b.exec("DELETE FROM customer WHERE id = 4")
		b.undo(run)
		b.restored(before)
	})
}
