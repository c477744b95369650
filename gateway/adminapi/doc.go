// Package adminapi is the HTTP API for operators: it shows records and the
// audit trail, and takes verdicts on records whose outcome is unknown. A gateway
// mounts it on its admin address; any program that has a [semel.Guard] can.
//
//	GET    /v1/records            what the store remembers
//	GET    /v1/records/DIGEST     one record
//	DELETE /v1/records/DIGEST     cancel: leave a tombstone
//	DELETE /v1/records?scope&name the same, even before the intent has arrived
//	POST   /v1/records/DIGEST/resolve   settle an unknown one
//	GET    /v1/audit              who gave which verdict
//
// The requests and answers are in docs/admin-api.md.
//
// A verdict names the record that its operator saw, by its ETag in If-Match: one
// on which another attempt has begun since then is refused with the present
// record (412), and a verdict that names none with 428.
//
// Every call carries a token ("Authorization: Bearer …") that names an operator;
// without tokens the API is off. Cookies are ignored, and requests that a page
// in a browser could send are refused. Every verdict is written to the audit
// trail by the guard before it takes effect, and to the log.
package adminapi
