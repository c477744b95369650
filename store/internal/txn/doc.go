// Package txn is the life of a transaction that carries a claim, from the claim
// to the commit, for stores over database/sql: which transaction the context of
// the work is in, savepoints inside of it, what is recorded again after a
// rollback, and what a commit means that was interfered with. A store says by
// [DB] and [Open] how its database does each step.
//
//	Transaction   begin ─▶ claim ─▶ work ─▶ settle, commit
//	                 └─ a record ─▶ undo, replay
//	Savepoint     save  ─▶ claim ─▶ work ─▶ settle          (commits with the transaction around it)
//	                 └─ a record ─▶ undo to the savepoint
//
// A [Mark] is an intent that became unknown inside of a transaction: its work
// reached out of the database, and no rollback takes that back. So it is
// recorded once more wherever the transaction is undone.
package txn
