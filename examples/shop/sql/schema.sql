-- The shop's tables. Semel adds its own. The id of an order is made
-- by the client where it can, so that a line may name its order before the
-- order has arrived. An order without one gets a random id: nothing here would
-- stop a second one.
CREATE TABLE IF NOT EXISTS sessions (
    id      TEXT PRIMARY KEY,
    account TEXT NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS orders (
    number   INTEGER PRIMARY KEY,
    id       TEXT NOT NULL UNIQUE,
    account  TEXT NOT NULL,
    customer TEXT NOT NULL,
    note     TEXT NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS lines (
    id       INTEGER PRIMARY KEY,
    order_id TEXT NOT NULL REFERENCES orders (id),
    item     TEXT NOT NULL,
    quantity INTEGER NOT NULL
) STRICT;

CREATE INDEX IF NOT EXISTS lines_by_order ON lines (order_id);
