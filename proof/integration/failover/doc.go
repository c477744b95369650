// Package failover shows what is left of the promises when a PostgreSQL primary
// dies and its standby takes over: with synchronous replication everything,
// without it everything but the newest moments, in which business rows and
// records of one transaction still share their fate.
package failover
