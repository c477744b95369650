// Package groupcommit lets the concurrent claims and settlements of one process
// share statements and commits, one with the other. It wraps a [semel.Store] that is a
// [semel.Batcher], and is such a store itself, with the same promises.
//
//	callers ──▶ Claim, Settle ──▶ queue ──▶ batch ─▶ Batch ──▶ every caller its own answer
//	                 └──▶ straight to the store's own verb, while few are under way
//
// Batches form on their own: while as many calls are under way as
// [Options.InFlight] allows, or larger ones, new steps gather, and go
// together when one of them returns. A lone caller never waits for company, and
// goes to the store's own verb in its own goroutine.
//
// # What stays as it was
//
//   - Claims of one digest never share a batch, nor run at the same time: they
//     take turns in the order in which they arrived. So do its settlements. A
//     claim and its own settlement cannot meet, because one follows the answer to
//     the other; a duplicate's claim may share a batch with the holder's settlement.
//   - A caller whose context ends gets its error. A step that had not left by
//     then is not taken; otherwise the outcome is unknown, as with any store. No caller
//     else notices: a batch has a context of its own.
//   - A batch that fails as a whole says nothing about its steps, so each is
//     repeated by the store's own verb, in its caller's goroutine and context,
//     and what fails then fails for this caller alone. So it is with a batch
//     that panics, takes too long or gives the wrong number of answers.
//
// # What bounds it
//
// A store that is down must not be asked more often through batches than
// without: what is repeated keeps to [Options.InFlight], and is not repeated
// for callers who have gone. A call that takes a quarter longer than
// [Options.Timeout] no longer counts as under way, so that one that hangs does
// not hold up others.
// What waits is bounded by [Options.MaxQueue]; further callers wait for a place
// within their context (promise 8).
package groupcommit
