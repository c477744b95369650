// Package sqlitestore keeps records in one SQLite file, for one host: a gateway
// or a service of one machine, with no server to run. Several processes of that
// host may have the file open at once; a network file system will not do.
//
// # What is promised, and what is not
//
// A step is answered after its commit has reached the disk (a write-ahead log,
// synced with every commit), so an acknowledged claim or outcome survives a
// crash of the process and of the host, as far as the disk keeps what it has
// confirmed. One file is one copy: losing the disk loses the records.
//
// # Layout
//
//	records                              in the order of the fences: the newest rows
//	┌───────┬────────┬───────┬───┬─────────┐   are the ones that change, and are together
//	│ fence │ digest │ state │ … │ outcome │◀─┐
//	├───────┼────────┼───────┼───┼─────────┤  ├─ records_by_digest: digest → fence, unique
//	│     1 │ 9f3c…  │ comp… │   │ {"id":… │  │  (the one place that is touched at random)
//	│     2 │ 04d1…  │ claim │   │         │  └─ records_by_sweep: sweep_at_ms → fence
//	└───────┴────────┴───────┴───┴─────────┘     (grows at its end)
//	meta: the greatest fence, the count, the latest time; one row in every commit
//
// Claim appends a row and adds its digest to the index. Renew and Settle find
// the row by its fence and touch no index. sweep_at_ms is the earliest time at
// which the record can expire, set with the claim; Sweep walks that index and
// corrects the few entries that live on. So no step costs more in a large file
// than in a small one, apart from the page of the digest index.
//
// # Who writes
//
//	Claim ─┐                  ┌─ BEGIN IMMEDIATE
//	Renew ─┼─▶ queue ─▶ writer ┤  read meta, take the time, run the steps in order
//	Settle ┤  (bounded)       └─ write meta, COMMIT (one sync) ─▶ answers
//	Sweep ─┘
//	Lookup, List, Count ─▶ connections of their own, next to the writer
//	checkpointer ─▶ copies the log into the file, next to the writer
//
// One goroutine writes. It never delays a step to fill a batch: a lone step is
// committed at once, and steps that arrive during a commit share the next one.
// A step that fails on its own fails its caller only; when the commit fails,
// every step in it does, and nothing of it is visible.
//
// # Time
//
// The store's clock is the host's, read when the store is opened, and runs on
// by the monotonic clock. Each commit writes it down, and no process that opens
// the file goes back behind it: when the wall clock was set back, an offset is
// added and a warning logged (promise 9).
package sqlitestore
