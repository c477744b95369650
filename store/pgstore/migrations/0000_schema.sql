-- Everything lies in a schema of its own.
CREATE SCHEMA IF NOT EXISTS {{schema}};

-- One row for each script that was run.
CREATE TABLE IF NOT EXISTS {{schema}}.migration (
  version    integer     NOT NULL PRIMARY KEY,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
