package dedupe_test

import "testing"

// Invoices with payments, lines that collide, notes of lines, a parent that is a loser of its own group, and a group of three.
func TestInvoices(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		marked := b.by("merged_into bigint", "merged_into bigint, live int AS (CASE WHEN merged_into IS NULL THEN 1 END) VIRTUAL", "merged_into bigint")
		b.exec(
			"CREATE TABLE invoice (id bigint PRIMARY KEY, tenant int, number varchar(9), created_at "+b.by("timestamptz", "datetime(6)", "text")+", parent_id bigint REFERENCES invoice (id), merged_into bigint REFERENCES invoice (id), merged_at "+b.by("timestamptz", "datetime(6)", "text")+", merge_run bigint)",
			"CREATE TABLE payment (id bigint PRIMARY KEY, invoice_id bigint NOT NULL REFERENCES invoice (id), amount numeric)",
			"CREATE TABLE line (id bigint PRIMARY KEY, invoice_id bigint NOT NULL REFERENCES invoice (id), pos int, "+marked+")",
			"CREATE UNIQUE INDEX line_uq ON line (invoice_id, pos"+b.by(") WHERE merged_into IS NULL", ", live)", ") WHERE merged_into IS NULL"),
			"CREATE TABLE line_note (id bigint PRIMARY KEY, line_id bigint REFERENCES line (id), txt varchar(9))",
			"INSERT INTO invoice (id, tenant, number, created_at) VALUES (1, 1, 'A-1', '2026-01-01'), (2, 1, ' a-1', '2026-01-02'), (3, 1, 'A-1 ', '2026-01-03'), (4, 1, 'B-1', '2026-01-01'), (5, 2, 'A-1', '2026-01-01')",
			"UPDATE invoice SET parent_id = CASE id WHEN 1 THEN 3 WHEN 2 THEN 1 WHEN 3 THEN 2 WHEN 4 THEN 3 END WHERE id < 5",
			"INSERT INTO line (id, invoice_id, pos) VALUES (10, 1, 1), (11, 2, 1), (12, 2, 2), (13, 3, 2), (14, 3, 3), (15, 4, 1)",
			"INSERT INTO line_note VALUES (20, 10, 'a'), (21, 11, 'b'), (22, 12, 'c'), (23, 13, 'd')",
			"INSERT INTO payment VALUES (30, 1, 10), (31, 2, 20), (32, 3, 30), (33, 4, 5)",
		)
		for _, losers := range []string{"mark", "delete"} {
			b.reversible(func() {
				q := request()
				q.Losers, q.Checks = losers, []string{"payment.amount", "payment"}
				p := b.plan("invoice", "tenant;lower(trim(number))", q)
				if p.Groups != 1 || p.Losers != 2 {
					b.Fatalf("the plan has %d groups and %d losers, want 1 and 2", p.Groups, p.Losers)
				}
				run := b.merge(p).Run
				b.want("SELECT concat(id, '>', coalesce(parent_id, 0)) FROM invoice WHERE merged_into IS NULL ORDER BY id", "1>0 4>1 5>0")
				b.want("SELECT concat(id, '@', invoice_id) FROM line WHERE merged_into IS NULL ORDER BY id", "10@1 12@1 14@1 15@4")
				b.want("SELECT concat(id, '@', line_id) FROM line_note ORDER BY id", "20@10 21@10 22@12 23@12")
				b.want("SELECT concat(invoice_id, '=', sum(amount)) FROM payment GROUP BY invoice_id ORDER BY invoice_id", "1=60 4=5")
				b.undo(run)
			})
		}
	})
}
