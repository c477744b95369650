// Command histories records what several processes asked of a store and what it
// answered, while processes and the database are killed, stopped and cut off
// and the store's clock jumps, and then looks for an order of the steps that
// the contract of [semel.Store] explains.
//
//	go run ./internal/histories -for 1m [-only REGEX] [-seed N] [-out DIR] [-json]
//
// A scenario is a store and a kind of fault, such as mysql/pause:
//
//	kill    the asking processes are killed at random instants and started again
//	pause   they are stopped for longer than a lease, and go on without knowing it
//	cut     connections break, and replies are lost after the step was taken
//	crash   all processes of the database server are killed, and it starts again
//	clock   the store's clock jumps by hours, forward and back
//	every   kill, pause, cut and crash side by side
//	guard   kill and pause, one level higher: see below
//
// # How a history is recorded
//
// The asking processes are this program again. Each has a few goroutines, and
// each of these takes random verbs on a few intents, with leases of a tenth of
// a second, and fences and owners that are often the right ones. It writes a
// line before it asks and another when it has the answer, each with one system
// call, so that a file ends where its process was killed. Lines carry
// CLOCK_MONOTONIC, which all processes of a Linux machine share and which
// nobody sets: a step whose answer was there before another was asked for came
// before it, and no other order is assumed.
//
// A line without an answer, and an answer that is an error without a sentinel,
// mean that the step was taken at any time since, or never.
//
// # How it is judged
//
// The model (model.go) is one intent: what is known of its record, with each
// time as the span in which it lies. Spans shrink to instants when an answer
// shows them. A step is allowed when the store's clock can have stood, between
// question and answer, where the contract wants it: a claim is taken over from
// the instant on at which its lease ends, and a record is forgotten from the
// instant on at which it expires. The store's clock is that of the machine, or
// with jumps at most their sum away from it.
//
// Intents come and go, so that each has a few hundred steps, and package
// porcupine searches an order for each on its own. Where it finds neither an
// order nor that there is none, the history counts as undecided, which fails
// like a violation. Over all intents together, fences must grow and none may be
// given twice (fences.go).
//
// The scenarios named guard let the processes call [semel.Do], refusing what is
// unknown, with an effect that writes a line. There, an intent has at most one
// effect, all its answers are the same one, and an answer has its effect
// (answers.go).
package main
