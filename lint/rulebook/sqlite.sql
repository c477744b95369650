CREATE TABLE t (id integer PRIMARY KEY, n integer NOT NULL, status text NOT NULL, version integer NOT NULL, doc text, seen text, tag text);
CREATE TABLE log (id integer PRIMARY KEY, line text NOT NULL);
CREATE TABLE note (id integer PRIMARY KEY, ref text NOT NULL UNIQUE, n integer NOT NULL DEFAULT 0, by text);
CREATE TABLE node (id integer PRIMARY KEY, parent integer REFERENCES node (id) ON DELETE SET NULL);
CREATE TABLE told (id integer PRIMARY KEY, n integer NOT NULL);
CREATE TRIGGER telling AFTER UPDATE ON told BEGIN INSERT INTO log (line) VALUES ('told'); END;
