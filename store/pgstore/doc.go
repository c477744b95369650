// Package pgstore keeps records in a PostgreSQL database (13 or newer), for any
// number of processes, next to the business rows if there are any.
//
// # What is promised, and what is not
//
// A step is answered after its commit, so an acknowledged claim or outcome
// survives a crash of the process and of the server. It is as durable as
// synchronous_commit says, which must not be off; after a failover to a replica
// that had not received it, it is lost, and its fence may be given again,
// unless the replica is a synchronous one.
//
// [Do], [Exec] and [Join] go further: claim, business rows and outcome commit
// together (promise 4).
//
// # Layout
//
//	record                                    fillfactor 50: what follows a claim
//	┌────────┬───────┬───────┬───┬─────────┐  stays on the page of the claim
//	│ digest │ fence │ state │ … │ outcome │◀─ record_pkey:     digest, unique
//	├────────┼───────┼───────┼───┼─────────┤◀─ record_by_fence: fence, unique; List reads it backwards
//	│ 9f3c…  │     1 │ comp… │   │ {"id":… │◀─ record_by_sweep: sweep_ms; Sweep reads it from its beginning
//	└────────┴───────┴───────┴───┴─────────┘
//	fence: the sequence      migration: the scripts that were run
//
// No index holds what changes between a claim and its end, so Renew, Settle and
// Await write one row on one page. sweep_ms is the earliest time at which a row
// may go; Sweep corrects the few that live on. The table begins with 128 empty
// pages and never gets smaller, because a statement that was planned for a
// small table reads all of it, and goes on so while the table grows.
//
// # What a verb costs
//
//	                              round trips  log in bytes
//	Claim, absent                           1           700
//	Claim, of an existing record       1 or 2             0   no lock either; 1 if this process met it before
//	Claim, released or expired before  2 or 3           530
//	Claim, taking over                 2 or 3           530
//	Renew                                   1           190
//	Settle, completed, 300 bytes            1           670
//	Settle, released or unknown             1           280
//	Settle, repeated or refused             2             0
//	Lookup, List                            1             0
//	Await, the first for a claim            1           180   0 for others
//
// The log does not count the first change of a page after a checkpoint.
// Batch takes many claims in one statement, many settlements in another, and both in
// one round trip and one commit.
//
// # Transactions
//
// [Do], [Run] and a [Store.Transactor] open a transaction in one of two
// ways; [Join] goes them inside of the caller's, behind a savepoint.
//
//	lock   BEGIN, try-lock, look ─ nothing there ─▶ work ─▶ INSERT record, COMMIT
//	          │           └─ a record ─▶ ROLLBACK, replay
//	          └─ locked ─▶ wait for the lock ─▶ look
//
//	row    BEGIN, INSERT claim ──── inserted ─────▶ work ─▶ UPDATE record, COMMIT
//	          └─ a row is there ─▶ look, or wait for the twin's lock ─▶ again
//
// The lock is the way of read committed: it writes once. The row is the way of
// snapshots that are older than the lock, and of servers without such locks.
// Either way the unique index has the last word, and a crash leaves nothing.
//
//	                             round trips  log on top of the rows'
//	Do, on top of the work's own           2           870
//	Run, with its statements               2           870
//	Exec, with its statement               1           870
//	a replay                               2             0
//
// # Fences
//
// Fences come from a sequence that caches none, inside of the statement that
// claims, so a claim that begins after another one was won has the greater one.
// Claims that overlap need more care: a process that
// stalled between its fence and its row could insert the lesser fence after
// a greater one had come and gone, and a holder of the greater one would
// refuse the holder.
//
//	A: nextval → 100  ··········· stalls ·················  INSERT: won with 100?
//	B:      nextval → 101, INSERT, released, row removed
//
// Two bounds prevent it, both by the server's clock. A statement that is older
// than a minute when its row is in the index ends itself, and is tried again
// with another fence (claim.sql). And a row stays for five minutes after its
// claim, whatever happened to it meanwhile: released rows are only marked, and
// Sweep leaves young ones alone. So A meets B's row: B drew its fence after A
// did, and until the row may go A's minute and B's own are long over. An update
// (a takeover, or a claim of a row that was left behind) names the fence that
// was seen, and finds nothing when another came between.
//
// If the sequence was set back, by a restore or a failover to a copy without
// it, the unique index refuses what was given before, and [Open] refuses the
// schema and says which number to set.
//
// # Time
//
// The store's clock is the server's (promise 9), read once in each statement.
// When it is set back, leases and retentions last longer; what was released
// stays so.
//
// # Notifications
//
// A settlement is sent by NOTIFY only if a caller waits for it: Await marks the
// claim, because telling makes commits queue. One connection for each store
// listens, from the first Await on; when it breaks, its waiters get an error
// and polls. Behind a pooler it would hear what others wait for, so Await asks
// whether the process that answers is the one that greeted it.
//
// # When the server refuses
//
// Conflicts (serialisation failures, deadlocks) are tried again inside of the
// verb, whatever isolation the database has by default. Every other error says
// what to do, and wraps none of the contract's sentinels unless it is definite.
//
// CockroachDB and YugabyteDB are recognised, and spared what they lack (row
// addresses, NOTIFY, advisory locks). The statements are tested in that form, on
// PostgreSQL; no such server was at hand. YugabyteDB lets each connection hoard
// numbers of a sequence, unless ysql_sequence_cache_minval is 1: then fences of
// a key may fall.
package pgstore
