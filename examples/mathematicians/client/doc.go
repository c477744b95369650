// Package client is the other half of package mathematicians: a queue on the
// client's disk. Add returns after an entry is on disk, with or without a
// network, and the entry is sent until the server has answered 201, or has
// refused it.
//
//	 Add (the caller's ref; an id from the stock, if there is one)
//	  │
//	  ▼            no id: GET …/new, kept on disk           201 with this id
//	waiting ◀─────────────────────────────────▶ waiting ─────────────────────▶ done
//	  ▲                                          with id
//	  │  no answer, 5xx, 408, 425, 429, or what   │ │
//	  │  this server would not say: later, with   │ │ 400 or another refusal,
//	  └───────────── the same id ─────────────────┘ ▼ in the server's own words
//	                                             refused, and all that need it
//
// The id is on the disk before it is sent for the first time, and is never
// replaced. So a process that is killed at any instant leaves an entry that is
// sent again as it was, and the server distinguishes the same create from
// another one. A crash between the hand-out and the disk costs an unused id.
//
// The server gives the ids. Where an id is wanted without a network, as for a
// link that is written down at once, [Queue.Stock] fetches some beforehand. The
// client makes none itself: this server answers 404 to ids that it does not
// know, so that a mistaken client cannot fill its index.
//
// A child is sent after its parent is done. The server is authoritative for what
// is done, the file for what is wanted. One process sends at a time: it holds a
// lock on a file next to the queue, which the operating system releases when the
// process dies. Any number may add and look.
package client
