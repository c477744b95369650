// Package dbguard holds the guards against doing something twice that live in
// the database, each as a small function for PostgreSQL, MySQL, MariaDB and
// SQLite. docs/guards.md says which one is right when.
//
//	there already, by a unique index   [CreateOrReuse], [Upsert]; [Translator] and [WriteConflict] for a person
//	done already, by a key             [Once], [Dedup.First] on a [Dedup] table
//	changed since it was read          [UpdateVersion]
//	moves from state to state          [Machine.Transition]
//	decides by what a row holds        [LockRows]; [LockCheckUpdate] with a key
//	a queue that is a table            [LockFree]
//	one number that many change        [Segments]
//	one at a time, beyond transactions [Locker] with [LockTable.CheckFence], [FenceTable.Advance] or [FenceTable.Fenced]
//	the right to do it once            [Tokens.Consume], [ConsumeDo], [TokenSigner]
//	to go on after an error            [Savepoint], [Retryable]
//
// # Sessions
//
// Guards run their statements on a [Session]: a pool or a transaction of the
// caller's. [SQL] makes one of database/sql, package pgxguard one of pgx. Those
// that lock or remember on behalf of other statements need the transaction that
// these are in, and answer [ErrNoTransaction] to a pool. Those that begin one
// themselves take a [Database].
//
// An error means that the guard refused, or could not decide: roll back.
// [Retryable] tells which transactions can be run again as they are.
//
// # States
//
// The database is authoritative in all of them: states are rows, time is its
// clock, and a process that dies leaves what its last commit left. They are drawn
// at [Dedup] (absent, held, done), [Tokens] (minted, consumed, expired),
// [Segments.Take] and [LockCheckUpdate] (their steps), and here for locks:
//
//	             Acquire                                       Release
//	free(n) ────────────────▶ held(m), m > n ─────────────────────────▶ free(m)
//	   ▲                       │  ▲    │ the lease ends
//	   │                 Renew └──┘    ▼                Acquire
//	   │                            lapsed(m) ─────────────────────▶ held(k), k > m
//	   └────────── Sweep ───────────────┘  its holder may still renew or release it until then
//
// A [Locker] renews every third of the lease and takes the lock for lost before
// the lease ends, by its own stopwatch; what a former holder still writes
// is refused by its fence, which is smaller. docs/guards.md goes through the
// failures. A [Machine] has the states that its [Declaration] names, and draws
// them itself.
//
// # Tables of their own
//
// [Dedup], [LockTable], [FenceTable], [Tokens] and [Segments] each keep one
// table. Schema prints it for the application's migrations, Create makes it,
// and Sweep, where there is one, forgets what is old: call it on a pool until it
// removes less than its limit.
package dbguard
