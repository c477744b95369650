// Package logstore keeps records in an append-only log that belongs to one process, such as a gateway. All callers that
// wait share one sync, and a completed record takes eight bytes of memory.
//
// It promises, in addition to the contract of [semel.Store]:
//
//   - A verb answers when its entry is on the disk. A loss of power takes back nothing that was acknowledged, and a caller
//     that finds a record which is not durable yet waits for it.
//   - One process has a log at a time ([ErrInUse]).
//   - After a write or sync that failed the store refuses every verb, because it is unknown how much is on the disk. The
//     next [Open] reads it again.
//   - A log that lost what was acknowledged is refused. [Check] reports what is missing, and [Repair] cuts it out.
//   - On a full disk new claims return [semel.ErrFull], and held ones can still be settled.
//   - The clock never runs backwards, not even across a restart.
//
// It does not promise that an expiry which a reader saw is still one after a loss of power, if the host's clock is set
// back meanwhile: a read writes nothing.
//
// # The log
//
// A directory holds segments, files that are written in full with zeros before their first entry (segment.go), because a
// sync is then several times as fast. An entry (entry.go) has a checksum and a number that is one more than that of the
// entry before it.
//
//	claim.go, settle.go ──▶ journal.add ──▶ batch ──▶ one write, one sync ──▶ all callers that wait
//	    │ the record in memory               next batch gathers meanwhile
//	    └──▶ settled and durable: the place in the table (table.go), and out of memory
//
// One batch at a time is written, in order. So after a crash whatever follows the last entry is the rest of a single batch
// that was never acknowledged, and is cut off (recover.go). An entry of a later batch behind damage proves that
// something acknowledged is gone.
//
// Expired records go with their segment, the oldest first; what lives in it is copied to the end of the log before
// (expire.go). It is assumed, as SQLite does, that a loss of power damages only the bytes of a sector that were being
// written.
package logstore
