// Package logstore keeps records in an append-only log that belongs to one process, such as a gateway. Concurrent callers
// share one sync, and a completed record takes a slot of eight bytes in memory.
//
// It promises, in addition to the contract of [semel.Store]:
//
//   - A verb returns when its entry is on the disk. A loss of power loses nothing that was acknowledged, and a caller that
//     finds a record which is not durable yet waits until it is.
//   - One process has a log at a time ([ErrInUse]).
//   - After a failed write or sync the store refuses every verb, because it is unknown how much is on the disk. The
//     next [Open] reads it again.
//   - A log that lost acknowledged entries, or a whole file, is refused. [Check] reports what is missing, and [Repair] cuts it out.
//   - On a full disk new claims return [semel.ErrFull], and held ones can still be settled.
//   - The clock never runs backwards, not even across a restart.
//
// It does not promise that a record which a reader saw expire stays expired after a loss of power during which the host's
// clock was set back: a read writes nothing.
//
// # The log
//
// A directory holds segments, files that are written in full with zeros before their first entry (segment.go), because a
// sync is then several times as fast. An entry (entry.go) has a checksum and a number that is one more than that of the
// entry before it. The manifest (manifest.go) names the first and the last segment.
//
//	claim.go, settle.go ──▶ journal.add ──▶ batch ──▶ one write, one sync ──▶ all callers that wait
//	    │ the record in memory               next batch gathers meanwhile
//	    └──▶ settled and durable: only its place stays in memory, in the table (table.go)
//
// One batch at a time is written, in order. So after a crash whatever follows the last entry is the rest of a single batch
// that was never acknowledged, and is cut off (recover.go). An entry of a later batch after damage proves that
// acknowledged entries are gone.
//
// Expired records are removed with their segment, the oldest first; live records of the segment are copied to the end of
// the log before (expire.go). As SQLite does, the log assumes that a loss of power damages only those bytes of a sector
// that were being written.
package logstore
