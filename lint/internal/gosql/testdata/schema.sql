CREATE TABLE t (id bigint PRIMARY KEY, n bigint NOT NULL, status text NOT NULL, note text);
CREATE TABLE log (line text NOT NULL);
CREATE TABLE note (ref varchar(40) NOT NULL PRIMARY KEY, n bigint NOT NULL);
