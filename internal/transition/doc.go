// Package transition is the transition table of Semel: what each verb of a store
// does to a record, and what a guard does about a record that it found. It is pure:
// no clock, no memory, no input or output, and it is written once.
//
//	        Claim: Fresh                 Settle(Completed): Write
//	Absent ──────────────▶ Claimed(fence n) ──────────────▶ Completed ──Reached──▶ Absent
//	   ▲                     │  │   │ Settle(Unknown): Write, or the lease is Reached
//	   │ Settle(Released):   │  │   └───────────▶ Unknown ──Claim: TakenOver──▶ Claimed(fence n+1)
//	   │ Remove              │  │ Renew                 │ Settle(Cancelled): Write
//	   └─────────────────────┘  └──▶ Claimed(fence n)   └──▶ Cancelled (tombstone)
//
// It is used by the guard (begin.go, claim.go and record.go of the root package),
// the locks of dbguard, store/memstore, store/internal/verb for what the other
// stores read back, the model behind the rule "model/sequences" of
// store/storetest, and the exhaustive exploration of internal/model. The
// SQL and Lua of the other stores cannot call it; that rule ties them to it,
// because it compares whatever a store answers, after every verb of a random
// sequence, with what this table answers.
package transition
