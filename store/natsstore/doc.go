// Package natsstore keeps records in a stream of NATS JetStream, 2.12 or newer: one server, or
// a cluster that replicates the stream. Any number of processes share it. It is a module of
// its own, so that other users do not download a client of NATS:
//
//	go get github.com/semel-dev/semel/store/natsstore
//
// # A verb
//
// A record is the last message on a subject of its own. A verb asks the stream's leader for that message
// and for its clock, decides, and publishes the next message on condition that the last one is still the
// one that it read:
//
//	         ┌─ STREAM.INFO ──▶ the leader's clock ─┐
//	verb ────┤                                      ├──▶ decide ──▶ publish, if the last sequence is n ──▶ its sequence
//	         └─ STREAM.MSG.GET ▶ message n, or none ┘      ▲                      │
//	                                                       └── another came first ┘
//
// The condition is checked by the leader, in the order of the stream, so it is the one atomic step
// of a verb (promise 1): whatever was read may be stale, and then nothing is written. A message whose answer was
// lost may have been stored. The verb then returns an error, and its repetition finds out. The holder of a
// claim remembers its message, and reads the clock only. Sixteen steps and more of a [semel.Batcher] are one atomic publish.
//
// # Layout
//
//	stream  SEMEL           one message per subject, in files, full streams refuse
//	subject semel.9f3c41d0… a record: one message, named by its digest, with a time to live
//	        semel_news.9f3c…  the headers of what was stored, without being kept, for [Store.Await]
//
// A released record is a message that says so, for two seconds. The server removes a message a second
// after its record has expired, so there is nothing to sweep, and the store is not a [semel.Sweeper].
//
// # Fences
//
// The fence is the sequence of the message that claimed. The stream gives each sequence once, over removals and
// restarts. A stream that Open makes begins at the host's time in microseconds, so that fences grow even
// when a stream was deleted and made again.
//
// # Time
//
// The store's clock is that of the stream's leader (promise 9). Calls that ask while a reading is under way share
// the next one. When another server becomes the leader, the clock is its own: keep the clocks of a
// cluster within a small part of a lease.
//
// # What is promised, and what is not
//
// With sync_interval: always on every server, a server forgets nothing that it acknowledged, whatever kills it.
// NATS' default is to sync every two minutes, and no client can ask a server which it does: so Open demands
// [Options.Sync]. With one server and SyncInterval, a loss of power makes the intents of the last minutes execute
// again; with three, that of two of them at once.
//
// Lookup, and the claim of a duplicate, read at the leader. One that was cut off from the others and
// does not know it yet may answer with what it had, for some seconds: a duplicate may be told that the
// intent is still running. It wins nothing: no message is stored without a majority.
//
// # Permissions
//
// For stream SEMEL and subject semel the user needs
//
//	publish:   semel.*, $JS.API.STREAM.INFO.SEMEL, $JS.API.STREAM.MSG.GET.SEMEL, $JS.API.DIRECT.GET.SEMEL
//	           and $JS.API.STREAM.CREATE.SEMEL, unless the stream exists
//	subscribe: _INBOX.>, semel_news.*
package natsstore
