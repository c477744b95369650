// Package semelwatermill makes the handlers of a Watermill router take effect once, by package inbox. Its [Middleware] replaces
// Watermill's Deduplicator, which notes a message before its handler has run and so loses it when that fails, and its PoisonQueue,
// which gives up on the first error and keeps nothing of what happened before.
//
//	subscriber ──message──▶ inbox ──claimed──▶ handler ──▶ recorded ──▶ acknowledged
//	     ▲                    │                   │
//	     │                    │                   └── failed, killed: delivered again, and counted by the inbox
//	     │                    └── handled before, in quarantine: acknowledged
//	     └── not acknowledged: in flight elsewhere, a pause after a failure, the store does not answer
//
// With HandleTx of the inbox as the [Handle], the handler's rows and the record of its message commit together, in the transaction that
// msg.Context() carries.
package semelwatermill
