-- The whole database, but for the records, for which sqlitetx adds its own tables.
CREATE TABLE IF NOT EXISTS customers (
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    email      TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT (STRFTIME('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

-- semel.yaml asks for this index and one_payment_per_reference.
CREATE UNIQUE INDEX IF NOT EXISTS one_customer_per_email ON customers (lower(trim(email)));

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
CREATE UNIQUE INDEX IF NOT EXISTS one_payment_per_reference ON payments (invoice_id, reference);

-- Messages waiting for a mail server that this example does not have.
CREATE TABLE IF NOT EXISTS emails (
    id         INTEGER PRIMARY KEY,
    recipient  TEXT NOT NULL,
    subject    TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT (STRFTIME('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

-- Messages for the accounting service; the sender names each by its id.
CREATE TABLE IF NOT EXISTS accounting (
    id         INTEGER PRIMARY KEY,
    subject    TEXT NOT NULL,
    subject_id INTEGER NOT NULL
) STRICT;

-- What form tokens are signed with. It outlives the process, as pages do.
CREATE TABLE IF NOT EXISTS form_secret (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    secret BLOB NOT NULL
) STRICT;
INSERT OR IGNORE INTO form_secret (id, secret) VALUES (1, RANDOMBLOB(32));
