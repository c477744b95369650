CREATE TABLE t (id bigint PRIMARY KEY, n int NOT NULL, status varchar(20) NOT NULL, version int NOT NULL, doc json, seen datetime(6), tag varchar(40));
CREATE TABLE log (id bigint AUTO_INCREMENT PRIMARY KEY, line varchar(40) NOT NULL);
CREATE TABLE note (id bigint AUTO_INCREMENT PRIMARY KEY, ref varchar(40) NOT NULL UNIQUE, n int NOT NULL DEFAULT 0, `by` varchar(40));
CREATE TABLE node (id bigint PRIMARY KEY, parent bigint, FOREIGN KEY (parent) REFERENCES node (id) ON DELETE SET NULL);
CREATE TABLE told (id bigint PRIMARY KEY, n int NOT NULL);
CREATE TRIGGER telling AFTER UPDATE ON told FOR EACH ROW INSERT INTO log (line) VALUES ('told');
