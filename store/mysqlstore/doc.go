// Package mysqlstore keeps records in a MySQL (8.0 or later) or MariaDB (10.3
// or later) database, for any number of machines that share it.
//
// # What is promised, and what is not
//
// A step is answered after InnoDB has committed it, so an acknowledged claim or
// outcome survives a crash of this process, and one of the server and its host
// where innodb_flush_log_at_trx_commit is 1 and, with a binary log, sync_binlog
// is 1; a store that finds other settings warns. Without a binary log InnoDB
// shows a commit to others before it is on disk: an answer that is replayed in
// that instant is lost with a crash of the server, of which the store warns too.
// Only the primary counts: a
// replica that is promoted may lack the last steps unless the primary waited
// for it (semi-synchronous replication, group replication). All verbs must
// reach the primary: a proxy that sends reads to replicas shows old records.
//
// Fences grow where all writers use one node, because the counter is the
// node's. With several writing nodes (Galera, group replication with several
// primaries) send all of a store's statements to one of them. A backup that
// is restored brings the counter back, and with it fences that were given
// since.
//
// # Layout
//
//	semel_record                           in the order of the fences: the newest rows
//	┌───────┬────────┬───────┬───┬─────────┐   are the ones that change, and lie together
//	│ fence │ digest │ state │ … │ outcome │◀─┐
//	├───────┼────────┼───────┼───┼─────────┤  ├─ digest: unique; the one place that is
//	│     1 │ 9f3c…  │ compl │   │ {"id":… │  │  touched at random
//	│     4 │ 04d1…  │ claim │   │         │  └─ sweep: sweep_ms, which grows at its end
//	└───────┴────────┴───────┴───┴─────────┘
//	semel_migration: the steps that led to these tables
//
// The fence is the table's AUTO_INCREMENT, which InnoDB keeps over restarts
// and crashes, even when no row is left. Claim appends a row; Renew and Settle
// find it by its fence and touch no index. sweep_ms is the earliest time at
// which the record can expire, set with the claim; Sweep walks its index and
// corrects the few entries that live on. Digests, texts and the words of
// states are bytes, without a collation; times are the server's, in Unix
// milliseconds, taken from UTC.
//
// # How a claim is decided
//
//	Claim ─▶ INSERT ──────────────▶ won (the usual case, one round trip)
//	  │        │ the digest has a row
//	  │        ▼
//	  └─seen─▶ SELECT ─ a record ────▶ lost, or won by the same owner before
//	  ▲          │ absent, or the record to take over
//	  │          ▼
//	  └─changed─ DELETE it, INSERT ──▶ won (one transaction)
//
// Every step is atomic and decides on its own: the unique key allows one row of
// a digest, and the DELETE names fence, state and time. What a step read may
// be out of date for the next one; then that one changes nothing, and the verb
// begins again. A duplicate of an intent that this process has met lately reads
// first.
//
// Nothing rests on how many rows the server says it has changed, except where
// a row that matches always changes: with clientFoundRows the number means
// another thing. A deadlock, or a lock that was waited for too long, undoes a
// statement; the verb repeats it. When a connection breaks while a statement is
// under way, the error wraps none of the contract's, and it is unknown
// whether it was taken.
//
// # Transactions
//
// [Do] and [Store.Transactor] claim inside of the transaction that does the
// work; [Join] does so inside of the caller's, behind a savepoint.
//
//	SAVEPOINT, INSERT claim ── inserted ──▶ work ─▶ RELEASE, UPDATE record, COMMIT
//	   │ the digest has a row
//	   ├─ committed ─▶ SELECT ─▶ replay, or DELETE it and INSERT
//	   └─ a twin's  ─▶ wait for its lock outside of any transaction ─▶ again
//
// On connections of this package ([Open], [NewConnector]) what comes before and
// behind the work is one round trip each; on others every statement is one. The
// savepoint tells whether the server, or the work itself, has ended the
// transaction: then nothing that follows is committed.
//
// With Options.Together, calls of [Run] and [Exec] share transactions, whose records
// are inserted when the work is done: docs/storage.md says what callers share.
//
// # Why a released row stays
//
// The fences of one digest must grow too. An INSERT takes its fence when it
// begins, and looks for the digest after that. Suppose it is held up in
// between, with fence 5, while another process claims the digest with 6, and releases
// it. If no row were left, the INSERT would go on and win with 5. So a released
// row stays, and makes it fail; the claim then replaces the row, with a fence
// taken while the row is locked. A row is removed by Sweep alone, and not
// within five minutes of its claim, even when it has expired: an INSERT waits
// for no lock between the two moments, so it is not held up for as long.
//
// # Time
//
// The server's clock is the only one (promise 9). A statement sees one time, that
// at which it began. It may wait for a lock after that, and then judges by a
// time that has passed: what lapsed or expired meanwhile still counts as live
// for it, never the other way round. Whether a claim is lost is always said by
// a SELECT, which waits for nothing.
package mysqlstore
