// Package faulty proves the checks on services with a known fault: a small shop, a layer of
// idempotency before it that is right, and the mistakes that people make when
// they write such a layer.
//
//	client ── Members (who may?) ── Door (seen before?) ── App (one order more)
//	             │                    │                      │
//	             │                    │                      └ what applications do wrong: Behaviour
//	             │                    └ what layers do wrong: each of the Decisions, turned
//	             └ what happens when it stands behind the door
//
// A [Service] is a service with one mistake, and the ids of the checks that
// have to find it: those, and no others. [Services] lists them. [Healthy] are
// services that are right, each in a way of its own, and whom no check may
// accuse. TestFaultyServices runs every check on all of them.
//
// The package is for tests. It keeps everything in memory, but is bounded by
// what a test sends only.
package faulty
