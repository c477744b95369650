// Package zoo is where the checks are checked: a small shop, a layer of
// idempotency before it that is right, and the mistakes that people make when
// they write such a layer.
//
//	client ── Members (who may?) ── Door (seen before?) ── App (one order more)
//	             │                    │                      │
//	             │                    │                      └ what applications do wrong: Habits
//	             │                    └ what layers do wrong: each of the Decisions, turned
//	             └ what happens when it stands behind the door
//
// An [Animal] is a service with one mistake, and the ids of the checks that
// have to find it: those, and no others. [Animals] lists them. [Healthy] are
// services that are right, each in a way of its own, and whom no check may
// accuse. The test beside package check runs every check on all of them.
//
// The package is for tests. It keeps everything in memory, but is bounded by
// what a test sends only.
package zoo
