// Package outcomecache keeps completed outcomes in the memory of the process,
// so that replaying one costs no round trip to the store.
//
// A completed record does not change until its retention ends, so there is
// nothing to invalidate. When it ends is decided by the store's clock (promise
// 9): the cache takes the time that was left when the store was read, and counts
// it down by this process's monotonic clock from before it asked, less a
// hundredth for clocks that run at other speeds. (Where the machine was suspended
// meanwhile, its wall clock has gone further, and counts.)
//
// Put it outermost, over shared batches too. Claims and outcomes that can still
// change always go to the store below. Nothing is authorised here: a door that
// authorises each request before it asks the guard (promise 5) loses nothing.
//
// Records are kept as the store has them: under a guard with outcome keys the
// memory holds ciphertext, and every replay decrypts.
//
// What it costs: a row that an operator erases in the database is still replayed
// by a process that has seen it, until its retention ends, it is pushed out, or
// the process ends; see [Store.Forget]. Leave the cache out where an erasure
// must count at once.
package outcomecache
