// Package memdb is a small database in the memory of a test: rows and records,
// in transactions that take a lock on the key and commit both together or not
// at all. It replaces a real one where a test needs faults that a real one does
// not show at will: a reply that is lost before or after the commit, a
// transaction that the database undoes, no connection left.
//
// The records are in a [semel.Store] of the test's choice. So is the claim of a
// transaction, which [DB] hides from all others until the commit, as a database
// hides uncommitted rows.
package memdb
