// Package memstore keeps records in the memory of one process: for tests, for
// demos, and for services of one process that accept to forget on a restart.
//
// What it promises, in addition to the contract of [semel.Store]: it is bounded
// ([Options.MaxRecords], [Options.MaxBytes]); it refuses with [semel.ErrFull]
// what does not fit, and never drops a live claim or an outcome whose
// retention has not ended (promises 1 and 2). What it does not promise: a
// restart forgets everything, so an intent that was executed before the
// restart is executed again after it (promise 2 ends with the process).
// Fences still grow across restarts, as long as the host's clock does.
//
// # Expiry
//
// A record is absent from the instant it expires, swept or not. Its memory is
// freed by a hierarchical timing wheel in each shard: eight levels of 64
// slots, one millisecond wide at the lowest level. Filing, moving and removing
// a record cost the same in a store of ten records and of ten million; a heap
// would cost a logarithm with cache misses, a ring in order of arrival would
// hold a short retention behind a long one. Renewals, the most frequent
// change, only write the new time: a record found too early in its slot is
// filed again. Every fresh claim sweeps a few steps of its own shard; a full
// store sweeps a bounded number of steps before it refuses; [Store.Sweep] does
// the rest.
package memstore
