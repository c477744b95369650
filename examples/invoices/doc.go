// Package invoices is a small, naive invoicing application: server-rendered
// pages, a JSON API and SQLite, written as anyone would write them.
//
// It has, on purpose, the bug Semel exists for. A create that arrives twice
// happens twice: two invoices, two e-mails. The application knows nothing of
// idempotency, ignores the Idempotency-Key header and finishes its work even
// when the client has gone. Put it behind `semel gateway` to see the difference,
// or look at package protected, which is the same application protected from
// inside. What the two share lies in package tallybook.
//
// All it has of Semel are the scripts of the browser client, and only with
// [Options].Guard: a tag in the page head and an attribute on each form.
package invoices
