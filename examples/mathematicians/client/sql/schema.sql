CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY,
    ref TEXT NOT NULL UNIQUE, -- the caller's own name of the wish: adding it twice adds it once
    kind TEXT NOT NULL CHECK (kind IN ('mathematician', 'paper')),
    parent INTEGER REFERENCES entries (id),
    body TEXT NOT NULL, -- the name or the title
    unique_id TEXT UNIQUE, -- the server's; kept before it is sent for the first time, and never changed after
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'done', 'refused')),
    reason TEXT NOT NULL DEFAULT '',
    CHECK ((kind = 'paper') = (parent IS NOT NULL)),
    CHECK (state <> 'done' OR unique_id IS NOT NULL)
) STRICT;

CREATE INDEX IF NOT EXISTS entries_waiting ON entries (state, id) WHERE state = 'waiting';
CREATE INDEX IF NOT EXISTS entries_parent ON entries (parent);

CREATE TABLE IF NOT EXISTS stock (
    unique_id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('mathematician', 'paper'))
) STRICT, WITHOUT ROWID;
