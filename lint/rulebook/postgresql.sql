CREATE TABLE t (id bigint PRIMARY KEY, n int NOT NULL, status text NOT NULL, version int NOT NULL, doc jsonb, seen timestamptz, tag text);
CREATE TABLE log (id bigserial PRIMARY KEY, line text NOT NULL);
CREATE TABLE note (id bigserial PRIMARY KEY, ref text NOT NULL UNIQUE, n int NOT NULL DEFAULT 0, by text);
CREATE TABLE node (id bigint PRIMARY KEY, parent bigint REFERENCES node (id) ON DELETE SET NULL);
CREATE TABLE told (id bigint PRIMARY KEY, n int NOT NULL);
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log (line) VALUES ('told'); RETURN NULL; END $$;
CREATE TRIGGER telling AFTER UPDATE ON told FOR EACH STATEMENT EXECUTE FUNCTION tell();
