// Package faulty proves the checks on services with a known fault: a small shop, a correct idempotency layer in front of
// it, and the mistakes that people make when they write such a layer.
//
//	client ── Members (who may?) ── Door (seen before?) ── App (one order more)
//	             │                    │                      │
//	             │                    │                      └ mistakes of applications: Behaviour
//	             │                    └ mistakes of layers: each of the Decisions, replaced
//	             └ what happens when it is behind the door
//
// A [Service] is a service with one mistake, and the ids of exactly the checks that must find it. [Services] lists them.
// [Healthy] lists correct services, all different, which no check may accuse. TestFaultyServices runs every check on all of
// them.
//
// The package is for tests: it keeps everything in memory, bounded only by what a test sends.
package faulty
