// Package redisguard keeps the locks and one-time tokens of package dbguard in
// Redis or Valkey (5 or newer), a single server, a primary that sentinels watch
// or a cluster. Each verb is one script on one key.
//
// Redis answers before its replicas and its disk have what it says. A failover,
// a flush, an eviction, or a restart without an append-only file that is synced
// always can lose it:
//
//   - A lock that is lost can be taken while its holder still works. The fence of
//     its new holder is still greater, because it is never less than
//     the server's time in microseconds, so that [dbguard.FenceTable.Advance] in the
//     database that is written tells the two apart. What it takes for that is that
//     the clock of the server that takes over is not behind the other's by more
//     than has passed since; keep servers on NTP, and do without Redis where a
//     clock may be set back at the moment of a failover.
//   - A token that is lost is unknown: it is refused. Only when it was consumed
//     just before a failover, and the new primary has it from before that, it can
//     be consumed twice. Where that must not be, keep tokens in the database with
//     the rows that they are for.
//
// Set maxmemory-policy to noeviction.
package redisguard
