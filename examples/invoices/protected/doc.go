// Package protected is the invoicing application of package invoices with every
// layer of Semel's switched on: a create that arrives twice happens once, and
// every sender gets the first answer.
//
// Both packages have the same files, and what they share lies in package
// tallybook, so the difference between the two is the code that protection takes.
// PROTECTED.md explains it hunk by hunk.
//
//	a form, or a program
//	   │  a token in a hidden field, or Idempotency-Key        form.go
//	   ▼
//	the door: replays what was answered                        door.go
//	   │  first time: one transaction
//	   ▼
//	rows, messages in the outbox, the recorded answer ── COMMIT, or nothing
//	   │  a unique index says no                               semel.yaml
//	   ▼
//	409 in the person's language
package protected
