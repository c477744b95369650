// Package machine is the transition table of Semel: what each verb of a store
// does to a record, and what a guard does about a record it met. It is pure:
// no clock, no memory, no input or output, and it is written once.
//
//	        Claim: Fresh                 Settle(Completed): Write
//	Absent ──────────────▶ Claimed(fence n) ──────────────▶ Completed ──Reached──▶ Absent
//	   ▲                     │  │   │ Settle(Unknown): Write, or the lease is Reached
//	   │ Settle(Released):   │  │   └───────────▶ Unknown ──Claim: TakenOver──▶ Claimed(fence n+1)
//	   │ Remove              │  │ Renew                 │ Settle(Cancelled): Write
//	   └─────────────────────┘  └──▶ Claimed(fence n)   └──▶ Cancelled (tombstone)
//
// Who uses it: the guard (begin.go and heartbeat.go of the root package),
// store/memstore, the model behind the rule "model/sequences" of
// store/storetest, and the exhaustive exploration of internal/model. The
// stores whose verbs are SQL or Lua cannot call it; that rule ties them to it,
// because it compares whatever a store answers, after every verb of a random
// sequence, with what this table answers.
//
// The functions of the package are the whole table. A [Table] with a [Line]
// taken out exists so that internal/model can show what each line is for;
// internal/archtest sees to it that nothing else names either of them.
package machine
