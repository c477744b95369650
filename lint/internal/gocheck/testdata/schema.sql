CREATE TABLE orders (id bigserial PRIMARY KEY, ref text, n int NOT NULL);
CREATE TABLE account (id bigint PRIMARY KEY, email text NOT NULL, balance int NOT NULL);
CREATE TABLE invoice (id bigserial PRIMARY KEY, ref text NOT NULL UNIQUE);
CREATE TABLE doc (id bigint PRIMARY KEY, n int NOT NULL, version int NOT NULL);
