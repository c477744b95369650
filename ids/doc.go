// Package ids makes and reads the ids of things that are created.
//
// A create is safe to send twice only when the thing has an id before the first
// attempt. docs/ids.md has a table of which kind is right; in short:
//
//   - [UUIDs], version 7: the default, made by any process on its own;
//   - [ULIDs]: the same in 26 characters that people can read out;
//   - [Snowflakes]: 64 bits, for a column that has to be a BIGINT. A number
//     that [LeaseMachine] takes from a store identifies the machine;
//   - [BusinessKey]: the number that people use for the thing,
//     INV-acme-2026-000042;
//   - [Compose] and [Derive]: keys made of facts that the caller already has.
//
// [Internal] is the opposite: a database's own number, which must not leave the
// server.
//
// # The number of a machine
//
// No two generators may use one number at a time. [LeaseMachine] claims a
// number in a store; the guard's heartbeat renews it.
//
//	         claim                        Close
//	free ──────────────▶ leased ────────────────────────▶ resting
//	 ▲                   │    │ lease lapsed                 │ one lease later,
//	 │                   │    ▼ (crash, pause, no store)     │ by the store's clock
//	 │                   │   lapsed ──claim, next fence──▶ leased
//	 └───────────────────┼────────────────────────────────────┘
//	                     └── an operator cancels the record: barred for its retention
//
// The store is authoritative. A generator with a leased number does not read the
// host's clock: it continues the store's, as read with the record, and refuses
// ([ErrMachineLost]) to put a time into an id that is not before the end of the
// lease in that record. So every id has its time inside a lease of its number,
// and the leases of one number do not overlap: two holders cannot make the same
// id, not even when one of them was suspended and wakes up late, and whatever
// the clocks of their hosts show. This assumes, like promise 9, that the store's
// clock does not go back.
//
// The fence takes no part in the id. It distinguishes the holder's own record
// from a successor's, and [Machine.Fence] returns it for systems that check it.
package ids
