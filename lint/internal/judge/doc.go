// Package judge says whether a statement is safe to run twice, by rules on its tree and on what the
// schema says of its tables.
//
// A statement is safe only where a rule shows it: the default is that it cannot be told. The rules look
// at what a second run would do to what the first has left:
//
//	no write                           safe
//	the condition is false afterwards  safe: no row is found again
//	the values are the same each time  safe
//	a unique key refuses a second row  safe
//	a value of the old value           not safe, but for some functions that settle
//	rows picked by what changes        not safe
//	random numbers, sequences          not safe (functions.go, and now() there)
//	triggers, rules, foreign keys      as what they do; not known: cannot tell
package judge
