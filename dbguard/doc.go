// Package dbguard holds the guards against doing something twice that live in
// the database, each as a small function for PostgreSQL, MySQL, MariaDB and
// SQLite.
//
// Guards run their statements on a [Session]: a pool or a transaction of the
// caller's. [SQL] makes one of database/sql, package pgxguard one of pgx.
package dbguard
