-- The guards of a database, and the unique indexes that took their place.
CREATE TABLE IF NOT EXISTS semel_dedupe_guard (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    tbl text NOT NULL,
    plan text NOT NULL,
    triggers integer NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    started_by text NOT NULL,
    installed_at timestamptz,
    removed_at timestamptz
);
CREATE TABLE IF NOT EXISTS semel_dedupe_index (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tbl text NOT NULL,
    name text NOT NULL,
    plan text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    started_by text NOT NULL,
    built_at timestamptz,
    dropped_at timestamptz
)
