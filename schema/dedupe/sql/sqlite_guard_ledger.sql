-- The guards of a database, and the unique indexes that took their place.
-- semel:safe the second run finds the table
CREATE TABLE IF NOT EXISTS semel_dedupe_guard (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    tbl TEXT NOT NULL,
    plan TEXT NOT NULL,
    triggers INTEGER NOT NULL,
    started_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    started_by TEXT NOT NULL,
    installed_at TEXT,
    removed_at TEXT
);
-- semel:safe the second run finds the table
CREATE TABLE IF NOT EXISTS semel_dedupe_index (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tbl TEXT NOT NULL,
    name TEXT NOT NULL,
    plan TEXT NOT NULL,
    started_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    started_by TEXT NOT NULL,
    built_at TEXT,
    dropped_at TEXT
)
