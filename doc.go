// Package semel makes a create safe to send twice: however often the same
// intent arrives, it happens once, and every attempt gets the first answer.
//
// An intent is named by a [Key] that its owner mints before the first
// attempt. A [Guard] turns attempts into one execution:
//
//	g, err := semel.New(store, nil)
//	...
//	inv, err := semel.Do(ctx, g, key, fingerprint, createInvoice)
//
// A [Store] remembers an intent as a [Record]. Its states:
//
//	          claim                     settle(completed)
//	absent ──────────▶ claimed(fence n) ─────────────────▶ completed ──retention──▶ absent
//	   ▲                  │  │   │ settle(unknown), or the lease lapsed without an answer
//	   │ settle(released) │  │   └──────────────▶ unknown ──rerun | reconcile──▶ claimed(fence n+1)
//	   └──────────────────┘  │ renew                 │ refuse: stays, until an operator resolves it
//	                         └──▶ claimed(fence n)   └──resolve──▶ completed | absent | cancelled
//
// The store is authoritative: it compares fences and reads its own clock. A
// lapsed claim is stored as claimed and read as lapsed; it counts as unknown.
// What each failure leads to:
//
//   - the holder crashes: the lease lapses; later attempts get [ErrUnknown]
//     (or what [Policy.OnUnknown] says);
//   - the store cannot be reached before the claim: nothing executes,
//     [ErrUnavailable];
//   - the reply to a claim is lost: it is repeated under the same [Owner] and
//     recognised, or undone;
//   - the lease cannot be renewed: the claim's context is cancelled before
//     another attempt can get the claim;
//   - the outcome cannot be recorded: [ErrNotStored]; the lease lapses into
//     unknown;
//   - a former holder wakes up: its settlement is refused by the fence.
//
// # Transaction mode
//
// Where one database holds the business rows and the records, claim, rows and
// outcome are one transaction (promise 4): [DoTx], or [Guard.BeginTx] and a
// [TxClaim]. No other attempt sees the claim; a twin waits on the database's
// own lock.
//
//	BeginTx ──▶ claim ──▶ work ─┬─ Complete ──▶ rows and outcome are committed
//	              │             ├─ Rollback ──▶ absent: the next attempt executes
//	              │             ├─ Final ─────▶ rolled back, completed without the rows
//	              │             ├─ Unknown ───▶ rolled back, recorded as unknown
//	              │             └─ Cancel ────▶ rolled back, recorded as cancelled
//	              └─ a record is there: replayed or refused, as above
//
// The database is authoritative. It rolls back the transaction of a process that
// dies. When the reply to a commit is lost, the key is claimed once more: the
// database answers when the first transaction has ended, which shows whether it
// committed. If the database cannot be asked in time, the answer is [ErrUnknown].
//
// # What is unknown
//
// An unknown intent is resolved by the next attempt ([Policy.OnUnknown]), or by
// package operator: in the background, or by an operator. The latter's verdicts
// are written to an audit trail before they take effect.
//
// # At rest
//
// [Options.OutcomeKeys] keep outcomes encrypted, [Options.Secrets] make digests
// that no reader of the store can check a guessed key against, and
// [Options.HideKeys] keeps scopes and names out of the store. docs/operations.md
// has the steps in which keys and secrets are replaced.
//
// # Dependencies
//
// The package depends on the standard library alone. Stores live in
// store/..., doors for HTTP and other protocols in packages of their own.
package semel
