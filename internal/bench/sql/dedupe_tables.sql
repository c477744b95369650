-- Invoices, of which the last {losers} repeat the number of an older one, each with a payment and a line at the same place.
CREATE TABLE invoice (id bigint PRIMARY KEY, tenant int NOT NULL, number text NOT NULL, created_at timestamptz NOT NULL, merged_into bigint);
CREATE TABLE payment (id bigint PRIMARY KEY, invoice_id bigint NOT NULL, amount numeric NOT NULL);
CREATE TABLE line (id bigint PRIMARY KEY, invoice_id bigint NOT NULL, pos int NOT NULL, merged_into bigint);
CREATE TABLE audit (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tbl text NOT NULL, pk bigint NOT NULL, col text, o text, n text, whole jsonb);
INSERT INTO invoice SELECT g, n % 100, 'INV-' || n, timestamptz '2026-01-01' + g * interval '1 s' FROM (SELECT g, CASE WHEN g <= {rows} - {losers} THEN g ELSE (g - {rows} + {losers}) * 19 END AS n FROM generate_series(1, {rows}) AS g) AS g;
INSERT INTO payment SELECT g, g, 10 FROM generate_series(1, {rows}) AS g;
INSERT INTO line SELECT g, g, 1 FROM generate_series(1, {rows}) AS g;
ALTER TABLE payment ADD FOREIGN KEY (invoice_id) REFERENCES invoice (id);
ALTER TABLE line ADD FOREIGN KEY (invoice_id) REFERENCES invoice (id);
CREATE INDEX ON payment (invoice_id);
CREATE INDEX ON invoice (tenant, number);
CREATE UNIQUE INDEX line_once ON line (invoice_id, pos) WHERE merged_into IS NULL;
VACUUM ANALYZE invoice;
VACUUM ANALYZE payment;
VACUUM ANALYZE line
