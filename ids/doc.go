// Package ids makes and reads the names under which things are created.
//
// A create is safe to send twice only when the thing has a name before the
// first attempt. Which kind of name is right is the table of docs/ids.md; in
// short:
//
//   - [UUIDs], version 7: the default, made by anybody, without asking;
//   - [ULIDs]: the same in 26 characters that people can read out;
//   - [Snowflakes]: 64 bits, for a column that has to be a BIGINT. Machines are
//     told apart by a number that [LeaseMachine] takes from a store;
//   - [BusinessKey]: what people call the thing, INV-acme-2026-000042;
//   - [Compose] and [Derive]: keys out of what the caller knows already.
//
// [Internal] is the opposite: a database's own number, which must not leave the
// server.
//
// # The number of a machine
//
// No two generators with one number may live at a time. [LeaseMachine] claims a
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
// The store is authoritative. A generator with a leased number does not read
// the host's clock: it continues the store's, as read with the record, and
// refuses ([ErrMachineLost]) to put a time into an id that is not before the
// end of the lease in that record. So every id has its time inside a lease of
// its number, and the leases of one number do not overlap: two holders cannot
// make the same id, not even when one of them stood still and wakes up late, and
// whatever the clocks of their hosts show. What is assumed is what promise 9
// assumes: that the store's clock does not go back.
//
// The fence takes no part in the id. It tells the holder's own record from that
// of a successor, and [Machine.Fence] hands it to those who check it.
package ids
