// Package sqlitetx keeps records in an application's own SQLite database, next to its rows, so that one transaction holds both:
// the claim of an intent, the rows of the work, and the outcome commit together or not at all (promise 4).
//
//	db, err := sql.Open("sqlite", "file:shop.db?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)")
//	store, err := sqlitetx.Open(ctx, db, nil)
//	guard, err := semel.New(store, nil)
//	invoice, err := sqlitetx.Do(ctx, guard, key, fingerprint, func(ctx context.Context, tx *sql.Tx) (Invoice, error) {
//		return insertInvoice(ctx, tx, order)
//	})
//
// It brings no driver: it uses the *sql.DB it is given, with any SQLite (3.37
// or newer). Two copies of SQLite in one process would void each other's locks
// on the file, so this package is separate from sqlitestore, which links a
// SQLite of its own.
//
// # What it adds to the database
//
// The tables semel_record and semel_meta, with two indexes and three triggers.
// [Open] creates and migrates them; user_version, application_id, journal mode
// and synchronous stay as they are, but Open refuses settings under which a
// power cut could take an answer back, unless [Options.AcceptLoss] is set.
//
// # One writer
//
//	Do ──▶ queue of this process ──▶ BEGIN, claim (the first write takes the file's lock)
//	                                  │ fn(ctx, tx)
//	                                  ▼
//	                                 outcome, COMMIT ──▶ next in the queue
//
// SQLite lets one transaction write at a time, so a key needs no lock: the
// holder of a claim is the only writer of the file until its transaction ends,
// and every other write of any process waits, whatever its key. Keep the work
// short, and do slow things (calls of other systems) outside of it or in two
// phases, with [semel.Do]. Duplicates of a settled intent do not wait: they get
// the committed answer.
//
// While another process has a transaction open, the store polls for as long as
// the policy says (semel.Policy's Wait), and then takes that transaction for a
// duplicate ([semel.ErrInFlight]), because its key is not visible. So a policy
// that does not wait refuses under plain contention where several processes
// write.
//
// # What the work may do
//
// The work uses the transaction it is given, and no other connection of the
// same file for writing: that one would wait for this one. It returns the
// errors it meets: SQLite itself ends a transaction on some of them (a full
// disk, an interrupted write), and later writes of the program are outside of
// it. If the work goes on regardless, the record becomes unknown.
//
// The claim is a row from the beginning of the transaction on, so work that
// calls Commit itself commits the claim with its rows: the outcome is recorded
// right after, and a crash in between leaves an unknown one. Work that calls
// Rollback itself and then succeeds gets [semel.ErrRolledBack].
//
// [Do] inside of work, with its context, becomes a savepoint of the
// transaction around it; its outcome commits with that one. [Join] does so in
// a transaction that the caller has begun. The verbs that read see what the
// transaction sees when they are given its context; the verbs that write
// refuse it, because they could only wait for the transaction around them.
//
// # Fences
//
// A file does not remember the fence of a transaction that was rolled back. So
// a fence is the store's clock in microseconds, or one more than the greatest
// one, whichever is greater: it is above those of transactions that were rolled
// back, unless the wall clock is set back meanwhile.
package sqlitetx
