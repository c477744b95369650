-- The whole database. Nothing here forbids a second, identical row: that is
-- the bug this example exists to show.
CREATE TABLE IF NOT EXISTS customers (
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    email      TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT (STRFTIME('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

CREATE TABLE IF NOT EXISTS invoices (
    id           INTEGER PRIMARY KEY,
    number       TEXT NOT NULL GENERATED ALWAYS AS
                 (PRINTF('INV-%s-%04d', SUBSTR(created_at, 1, 4), id)) VIRTUAL,
    customer_id  INTEGER NOT NULL REFERENCES customers (id),
    amount_cents INTEGER NOT NULL,
    currency     TEXT NOT NULL,
    note         TEXT NOT NULL,
    created_at   TEXT NOT NULL DEFAULT (STRFTIME('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

CREATE TABLE IF NOT EXISTS payments (
    id           INTEGER PRIMARY KEY,
    invoice_id   INTEGER NOT NULL REFERENCES invoices (id),
    amount_cents INTEGER NOT NULL,
    method       TEXT NOT NULL,
    reference    TEXT, -- what the bank calls it
    created_at   TEXT NOT NULL DEFAULT (STRFTIME('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

CREATE INDEX IF NOT EXISTS payments_by_invoice ON payments (invoice_id);

-- Messages waiting for a mail server that this example does not have.
CREATE TABLE IF NOT EXISTS emails (
    id         INTEGER PRIMARY KEY,
    recipient  TEXT NOT NULL,
    subject    TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT (STRFTIME('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;
