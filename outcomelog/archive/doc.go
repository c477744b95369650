// Package archive keeps the outcome log of creates in a database, so that an operator can ask which request made invoice 77.
//
//	requests ─▶ Keep ─▶ queue (bounded) ─▶ one writer ─▶ table (bounded in days and rows)
//	               └──▶ dropped, counted                   ▲
//	                                     operators: Search ┘
//
// A request never waits for the archive and never fails because of it: events that do not fit into the queue are dropped
// and counted. The writer puts many events into one statement, and repeats a statement whose result is uncertain without
// writing its events twice. It needs a database/sql handle of its own, so that it does not take connections from requests.
//
// It keeps events of requests that ran: created, returned-existing, rejected and so on. Repetitions appear only in log lines
// and metrics. An entry holds what its event holds: the digest of the key, the names of fields without their values, and
// the path of the created resource.
package archive
