// Package rerun runs SQL statements twice on a scratch copy of a database, and says what the second
// run changed.
//
//	the database (read only) ──copy──▶ tables without rows
//	                                     │ for each statement
//	                                     ▼
//	    rows made for it ─▶ run 1 ─▶ clock moves ─▶ run 2 ─▶ compare the rows after run 1 with those after run 2
//
// The copy is the authority: what its tables, triggers and functions do counts, and not what the
// rules of the linter make of them. Statements are input from strangers. The rules of [admit] leave
// out those that reach beyond the copy, and behind them the server refuses them: the session has a role or
// user that owns the copy and nothing else, and in SQLite no second database can be attached.
//
// A copy has a name that says which process made it. When that process is killed, the next run
// finds that no process holds the copy, and drops it.
package rerun
