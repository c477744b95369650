// Package dbserver starts real database servers and brokers from the installed
// binaries: PostgreSQL with standbys, MariaDB, Redis and Redis clusters, NATS and
// RabbitMQ, on free ports of the loopback interface, each with data of its own.
//
// Servers live in a [Home], and none outlives the process that opened it, not
// even when that process is killed: a small keeper waits at the other end of a
// pipe and, once that breaks, ends the servers and removes their data.
//
//	      start            Kill (SIGKILL to all of it), Stop (orderly)
//	new ─────────▶ running ─────────────────────────────────────────▶ down
//	                  ▲                                                 │
//	                  └──────────── Start: same port, same data ────────┘
//
// Started as root, servers run as an unprivileged user: Debian's for them, if it
// exists.
package dbserver
