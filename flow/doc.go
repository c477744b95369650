// Package flow makes an operation of several steps happen once, although no
// transaction spans them: an order here, stock in another database, a payment at
// a service. It is written as a plain function. Whichever process dies and
// however often it is asked for, each step takes effect once, or is undone, or is reported
// as unknown.
//
// Use it only for what cannot share a transaction. Where one database holds all
// rows, one [semel.DoTx] is simpler, faster, and never unknown.
//
//	order := flow.Define("create order", func(r *flow.Run, in Order) (Receipt, error) {
//		id, err := flow.Tx(r, "insert order", in, insertOrder, flow.Undo(cancelOrder))
//		if err != nil {
//			return Receipt{}, err
//		}
//		paid, err := flow.Call(r, "charge", in.Card, charge, flow.CalleeDedupes(24*time.Hour), flow.Undo(refund))
//		return Receipt{id, paid}, err
//	})
//	flows, err := flow.New(guard, &flow.Options{Transactor: store.Transactor(nil)}, order)
//	receipt, err := flow.Start(ctx, flows, order, key, in)
//
// # How it works
//
// Neither an engine nor a journal is needed. A flow is an intent, and so is each of its
// steps, under the number of the step in a scope that belongs to the flow. Another
// attempt runs the function again: finished steps replay what they returned,
// the first unfinished one goes on.
//
//	           Start, Accept                    the function returned
//	absent ────────────────────▶ claimed ─┬─ a result ────────────────────────────▶ completed: everyone gets it
//	                              ▲  │    ├─ a final error ─▶ undo, last step first ▶ completed: everyone gets *Failed
//	                              │  │    └─ a step is open ──────────┐
//	          retry or background │  │ the process died               ▼
//	                              └──┴────────────────────────── unknown: *Unfinished or *Parked
//
// So the function must be deterministic: all that it reads from outside (a clock,
// a random number, a table) it reads in a step. A step that asks for something
// else than its first attempt did is refused, and the flow is parked.
//
// # What a step's error means
//
//   - [semel.MarkFinal]: the step's answer; it is recorded and replayed. When the
//     function returns it, or makes one itself, the flow has failed and is undone.
//   - any other error of a [Tx] step: it was rolled back. The flow is
//     [*Unfinished], and the next attempt runs the step again.
//   - [semel.MarkReleased] of a [Call]: nothing happened, likewise.
//   - any other error of a Call: it may have happened. [CalleeDedupes] and [Ask]
//     say how the next attempt finds out. Without them the flow is [*Parked]:
//     an operator resolves the step's record, and the next attempt goes on.
//
// A flow that is older than [Options.MaxAge] starts no further step: what was done is
// undone, and what never ran gets a tombstone, so that a process that wakes up
// late cannot run it.
package flow
