// Package gosql finds the calls in Go programs that hand SQL to a database, and judges the statements.
//
// The analyzer of [New] looks at one package. A call is known by its method (database/sql, pgx, sqlx, any interface with a
// variadic Exec or Query), or by a fact: a function that hands one of its parameters on takes SQL itself, in all packages
// that call it. The text of a call is a set of alternatives, each of constant parts and holes; what cannot be followed is
// a hole, and a write with a hole where it matters is never called safe.
package gosql
