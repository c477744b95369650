-- An id is handed out before it is used. This distinguishes an id that was never handed out from one that waits for its
-- first POST, even after a restart.
CREATE TABLE IF NOT EXISTS handouts (
    unique_id BLOB PRIMARY KEY CHECK (length(unique_id) = 16),
    kind TEXT NOT NULL CHECK (kind IN ('mathematician', 'paper')),
    used INTEGER NOT NULL DEFAULT 0 CHECK (used IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS handouts_unused ON handouts (used) WHERE used = 0;

-- The UNIQUE constraint makes a create happen once. id never leaves the server.
CREATE TABLE IF NOT EXISTS mathematicians (
    id INTEGER PRIMARY KEY,
    unique_id BLOB NOT NULL UNIQUE REFERENCES handouts (unique_id),
    first_name TEXT NOT NULL,
    last_name TEXT NOT NULL,
    created_first_name TEXT NOT NULL, -- the first answer, which PUT does not change
    created_last_name TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 1
) STRICT;

CREATE TABLE IF NOT EXISTS papers (
    id INTEGER PRIMARY KEY,
    unique_id BLOB NOT NULL UNIQUE REFERENCES handouts (unique_id),
    author INTEGER NOT NULL REFERENCES mathematicians (id),
    title TEXT NOT NULL
) STRICT;

CREATE INDEX IF NOT EXISTS papers_author ON papers (author);
