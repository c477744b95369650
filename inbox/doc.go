// Package inbox makes every message of a broker take effect once, although brokers
// deliver at least once. It turns a delivery into a [Verdict] (acknowledge,
// deliver again later, or quarantine) by Semel's records; drivers fetch and acknowledge.
//
//	in, err := inbox.New(guard, &inbox.Options{Consumer: "billing"})
//	...
//	v := in.Handle(ctx, message, ship)                          // effects elsewhere
//	v := in.HandleTx(ctx, store.Transactor(nil), message, book) // rows in the store's database
//
// A message is an intent: its scope is semel:inbox:CONSUMER, its name the message's ID, its
// fingerprint the subject, the key and the body. Headers are not part of it, because brokers change them.
//
//	                       handler: nil
//	absent ──▶ claimed ──┬───────────────────────▶ completed: acknowledged, as is every later delivery
//	   ▲          ▲      │ an error
//	   │ HandleTx │      ├──▶ failed (unknown, with a note) ──pause──▶ claimed, until Options.MaxAttempts
//	   └──────────┼──────┤                                     └─────▶ quarantined
//	              │      │ a panic, a time-out, the process died: it may have happened
//	              │      └──▶ unknown ──Options.Ask─┬─ it happened ──▶ completed
//	              └──────────── it did not ─────────┘
//	                             └── without Ask ──▶ quarantined, and never run again on a guess
//
// The store is authoritative: a message is acknowledged only when its record says that it
// is done, or its copy is in quarantine.
package inbox
