// Package lint says of SQL statements whether they are safe to run twice.
//
// A statement is safe when the database is the same after one run as after several, whatever
// the tables hold: UPDATE t SET n = 10, but not n = n - 1. It is not safe when a second run changes
// what the first has left, for some rows. Where neither can be shown, the verdict is that it
// cannot tell. docs/lint.md has every rule with an example.
package lint
