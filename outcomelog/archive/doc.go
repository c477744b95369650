// Package archive keeps the outcome log of creates in a database, so that an operator can ask which request made invoice 77.
//
//	requests ─▶ Keep ─▶ queue (bounded) ─▶ one writer ─▶ table (at most 30 days, and so many rows)
//	               └──▶ dropped, counted                   ▲
//	                                     operators: Search ┘
//
// A request never waits for the archive and never fails because of it: what the queue has no room for is dropped and counted. The
// writer puts many events into one statement, and repeats a statement whose fate is uncertain without writing its events
// twice. It needs a database/sql handle of its own, so that it does not take connections from requests.
//
// Kept are events of requests that ran: created, returned-existing, rejected and so on. Repetitions are in the log lines and
// metrics alone. An entry has what its event has: the digest of the key, names of fields and no value of one, and the
// path of what was made.
package archive
