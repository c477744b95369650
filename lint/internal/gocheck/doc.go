// Package gocheck finds in Go programs what runs a statement twice that is not safe to run twice.
//
// Five checks follow the calls that package gosql judged:
//
//   - check-then-insert: a SELECT decides that a row is missing, and an INSERT without a unique key follows.
//   - read-modify-write: an UPDATE writes back what was computed in Go from a SELECT of the same row.
//   - unguarded-handler: a POST, PUT or PATCH route, or a gRPC method, reaches a write and passes no guard.
//   - retry-loop: a write is repeated after any error, even one that says nothing about what happened.
//   - interceptor-order: a retry is outside of what makes the idempotency key, so each attempt has another one.
//
// The first and retry-loop look at one function and what its callees do, the second at one function. The others need the program: a package adds what it
// knows to a fact, and package main judges, because a guard may wrap the whole router there. Each check is silent when in
// doubt; docs/lint.md lists where.
package gocheck
