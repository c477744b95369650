// Package memdb is a small database in the memory of a test: rows, and records
// beside them, in transactions that take a lock on the key and commit both
// together or not at all. It stands in for a real one where a test needs what
// a real one cannot be made to show at will: a reply that is lost before or
// after the commit, a transaction that the database undoes, no connection left.
//
// The records lie in a [semel.Store] of the test's choice. The claim of a
// transaction lies there too, and [DB] hides it from everybody else until the
// commit, as a database hides what is not committed.
package memdb
