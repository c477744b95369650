package dedupe_test

import (
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
)

// MariaDB: rows in any partition are merged. A rule without the columns of the partitions has no unique index, and finish says so; those
// of their expression are enough.
func TestPartitionsOfMariaDB(t *testing.T) {
	t.Parallel()
	b := in(t, dialect.MySQL)
	b.exec("CREATE TABLE invoice (id int, number varchar(20) COLLATE utf8mb4_bin, at date, merged_into int, PRIMARY KEY (id, at)) PARTITION BY RANGE COLUMNS (at) (PARTITION a VALUES LESS THAN ('2026-01-01'), PARTITION b VALUES LESS THAN (MAXVALUE))",
		"CREATE TABLE line (id int PRIMARY KEY, invoice_id int, invoice_at date, KEY (invoice_id, invoice_at))",
		"INSERT INTO invoice (id, number, at) VALUES (1, 'x', '2025-02-01'), (2, 'x', '2025-02-01'), (3, 'y', '2025-03-01'), (4, 'y', '2026-03-01'); INSERT INTO line VALUES (10, 2, '2025-02-01'), (20, 4, '2026-03-01')")
	q := request()
	q.Index = "once"
	q.References = []string{"line.invoice_id,invoice_at"}
	before := b.state()
	p := b.plan("invoice", "number", q)
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "is partitioned: a unique index on it has to hold at") {
		t.Errorf("the notes are %q", p.Notes)
	}
	run := b.merge(p).Run
	b.want("SELECT concat(id, '@', invoice_id, '/', invoice_at) FROM line ORDER BY id", "10@1/2025-02-01 20@3/2025-03-01")
	_, err := b.tryFinish(p)
	b.refused(err, "is partitioned by at, which is not a field of the rule")
	b.undo(run)
	b.restored(before)
	p = b.plan("invoice", "number;at", q)
	b.merge(p)
	b.want("SELECT id FROM invoice ORDER BY id", "1 3 4")
	if done := b.finish(p); !done.Built {
		t.Errorf("finished: %+v", done)
	}
	b.refuses("INSERT INTO invoice (id, number, at) VALUES (9, 'x', '2025-02-01')")
	b.exec("CREATE TABLE byyear (id int, number varchar(20) COLLATE utf8mb4_bin, loose varchar(20), at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (year(at)) (PARTITION a VALUES LESS THAN (2026), PARTITION b VALUES LESS THAN MAXVALUE)", "INSERT INTO byyear VALUES (1, 'x', 'x', '2025-02-01')")
	q.Index = "yearly"
	_, err = b.tryFinish(b.plan("byyear", "number", q))
	b.refused(err, "is partitioned by at, which is not a field of the rule")
	_, err = b.tryFinish(b.plan("byyear", "lower(loose);at", q))
	b.refused(err, "only by copying it (run ALTER TABLE `byyear` ADD COLUMN `semel_yearly_1`")
	p = b.plan("byyear", "number;at", q)
	if done := b.finish(p); !done.Built {
		t.Errorf("finished: %+v", done)
	}
	if done := b.finish(p); done.Built {
		t.Errorf("finished again: %+v", done)
	}
	b.refuses("INSERT INTO byyear (id, number, at) VALUES (9, 'x', '2025-02-01')")
}
