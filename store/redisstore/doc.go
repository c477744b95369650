// Package redisstore keeps records in Redis 7 or Valkey: one server, a primary
// with replicas behind one address, or a cluster. Any number of processes
// share it.
//
// # What is promised, and what is not
//
// Every verb is one script, which the server runs alone (but for claims of what
// this process has met finished: such a record does not change any more and is
// only read, unless Options.Replicas must have it), so what one server
// answers keeps every promise as long as the server keeps its data. It does
// so over a crash with appendonly yes and appendfsync always; with less, what
// it answered last is forgotten, and those intents may be executed again. It
// must not remove records either: Open refuses a server whose maxmemory-policy
// does, and warns of what a crash would lose.
//
// A failover can lose a claim. Redis replicates after it has answered: what the
// replica had not received when it was promoted is gone, acknowledged claims
// and outcomes alike, and the intent is executed a second time. Whether
// sentinels, a cluster or an operator promotes it makes no difference. With
// Options.Replicas (WAIT) as many as each primary has replicas, what was
// acknowledged survives unless the replica itself crashes; with fewer, and with
// min-replicas-to-write, that is rarer. Fences grow over a failover nevertheless, so that a system which
// checks them refuses the first holder. Where twice must never happen, keep the
// records in a SQL database, next to the rows they guard.
//
// # Layout
//
//	semel:{9f3c}41d0…   a record: one string, named by its digest, with a time to live
//	semel:fence         the counter of fences
//	semel:settled       the channel of settlements that callers wait for
//
//	         ┌───────┬─────────┬─────────┬─────────┬───────┬───┬──────────────┬─────────────┐
//	record:  │ fence │ claimed │ expires │ settled │ state │ … │ scope   name │ note outcome│
//	         └───────┴─────────┴─────────┴─────────┴───────┴───┴──────────────┴─────────────┘
//	                   ms       ms after   ms after                             once settled
//
// The scripts decide when a record has expired; the key lives a second longer
// (a minute in a cluster) and then frees its memory on its own. So there is
// nothing to sweep, and the store is no [semel.Sweeper].
//
// # Fences
//
//	one server:  claim.lua ── fence = max(counter + 1, clock in µs) ──▶ record      1 trip
//	cluster:     draw.lua on the counter's node ── fence ──▶ claim.lua on the record's 2 trips
//
// The counter runs ahead of the server's clock, in microseconds, so that fences
// grow even when the counter was lost by a failover or FLUSHALL. In a cluster
// every claim draws its fence first; claims that arrive meanwhile share the
// next draw. A drawn fence that comes late is refused by the record's node when
// the key had a greater one meanwhile, which it remembers for a minute, or
// when it was drawn more than half a minute ago, and another one is drawn. A
// counter that was lost while the clock was set back, both together, gives the
// numbers in between again.
//
// # Time
//
// The store's clock is that of the server which holds the record (promise 9),
// read once by each script. After a failover, or when a slot moved, it is
// another server's: keep their clocks within a small part of a lease, and in a
// cluster within half a minute, or a fence that comes late may go unnoticed.
//
// # Permissions
//
// For a prefix semel the server's user needs
//
//	~semel:* &semel:settled +evalsha +eval +time +get +set +incr +del +setrange +publish
//	+subscribe +unsubscribe +scan +getrange +info +ping +hello +client|setname
//
// and, for what only some use: +config|get (a warning that knows appendfsync),
// +wait +pexpiretime +pexpireat (Options.Replicas), +cluster +asking (a cluster).
package redisstore
