-- What semel dedupe keeps in the application's database. A state of the map is 0 open, 1 merged, 2 refused, 3 undone; a
-- step of the audit 1 is a row whose references moved, 2 a loser, 3 a winner.
CREATE TABLE IF NOT EXISTS semel_dedupe_run (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    tbl text NOT NULL,
    plan text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    started_by text NOT NULL,
    finished_at timestamptz,
    undone_at timestamptz
);
CREATE TABLE IF NOT EXISTS semel_dedupe_map (
    run bigint NOT NULL,
    item bigint NOT NULL,
    grp bigint NOT NULL,
    loser text NOT NULL,
    winner text NOT NULL,
    state smallint NOT NULL DEFAULT 0,
    reason text,
    PRIMARY KEY (run, grp, item)
) WITH (fillfactor = 50);
DROP INDEX IF EXISTS semel_dedupe_map_open;
CREATE TABLE IF NOT EXISTS semel_dedupe_audit (
    id bigint GENERATED ALWAYS AS IDENTITY,
    run bigint NOT NULL,
    grp bigint NOT NULL,
    item bigint NOT NULL,
    step smallint NOT NULL,
    tbl text NOT NULL,
    "key" text NOT NULL,
    winner text,
    whole jsonb,
    old jsonb,
    new jsonb,
    at timestamptz NOT NULL DEFAULT now(),
    undone_at timestamptz,
    undone_by text,
    kept text,
    PRIMARY KEY (run, grp, id)
);
CREATE INDEX IF NOT EXISTS semel_dedupe_audit_row ON semel_dedupe_audit (tbl, "key") WHERE step = 2;
