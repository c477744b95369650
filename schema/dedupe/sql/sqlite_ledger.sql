-- What semel dedupe keeps in the application's database. A state of the map is 0 open, 1 merged, 2 refused, 3 undone; a
-- step of the audit 1 is a row whose references moved, 2 a loser, 3 a winner. semel_dedupe_now has the run within its
-- transactions, for triggers.
CREATE TABLE IF NOT EXISTS semel_dedupe_run (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    tbl TEXT NOT NULL,
    plan TEXT NOT NULL,
    started_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    started_by TEXT NOT NULL,
    finished_at TEXT,
    undone_at TEXT
);
CREATE TABLE IF NOT EXISTS semel_dedupe_map (
    run INTEGER NOT NULL,
    item INTEGER NOT NULL,
    grp INTEGER NOT NULL,
    loser TEXT NOT NULL,
    winner TEXT NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    PRIMARY KEY (run, item)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS semel_dedupe_map_open ON semel_dedupe_map (run, grp) WHERE state = 0;
CREATE INDEX IF NOT EXISTS semel_dedupe_map_group ON semel_dedupe_map (run, grp);
CREATE TABLE IF NOT EXISTS semel_dedupe_audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL,
    grp INTEGER NOT NULL,
    item INTEGER NOT NULL,
    step INTEGER NOT NULL,
    tbl TEXT NOT NULL,
    "key" TEXT NOT NULL,
    winner TEXT,
    whole TEXT,
    old TEXT,
    new TEXT,
    at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    undone_at TEXT,
    undone_by TEXT,
    kept TEXT
);
CREATE INDEX IF NOT EXISTS semel_dedupe_audit_group ON semel_dedupe_audit (run, grp);
CREATE INDEX IF NOT EXISTS semel_dedupe_audit_row ON semel_dedupe_audit (tbl, "key") WHERE step = 2;
CREATE TABLE IF NOT EXISTS semel_dedupe_now (run INTEGER NOT NULL)
