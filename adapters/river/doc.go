// Package semelriver makes jobs of River happen once: enqueued once for a key, in the caller's transaction, and worked once,
// whichever worker dies in the middle.
//
// River delivers a job at least once. A worker that is killed, or runs longer than RescueStuckJobsAfter, is followed by another one
// whether the first one is dead, in the middle or at its end. Its unique jobs are compared by their arguments or not at
// all, and forgotten when the row is cleaned up. [Jobs] adds what is missing:
//
//	Jobs.InsertTx   key ─▶ job, in the transaction of the business rows; other arguments are a mismatch
//	WorkTx          rows, Semel's record and River's completion in one transaction: never unknown
//	Jobs.Work       a middleware for effects elsewhere: claimed with a heartbeat; unknown after a crash
//
// What River does with an attempt that does not run the worker:
//
//	it was done before                                       completed
//	another attempt runs, the store does not answer          snoozed, which counts no attempt
//	it may have happened, the key was used for other work    cancelled, with the reason in the job's errors
//
// A cancelled job whose record an operator resolved as not happened runs after JobRetry.
package semelriver
