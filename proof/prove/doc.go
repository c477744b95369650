// Command prove attacks the promises of docs/guarantees.md with processes on
// real stores: it kills and stops the processes, crashes the database, cuts its
// connections, loses its replies and moves its clock, and then checks what was
// answered against what happened.
//
//	go run ./proof/prove -for 1m [-only REGEX] [-seed N] [-out DIR]
//
// A scenario is a kind and a store, such as clock/mysql:
//
//	store        processes take random verbs on a few intents
//	clock        the same, while the store's clock jumps by hours, forward and back
//	guard        processes call [semel.Do], which refuses what is unknown
//	transaction  processes call Do of the store: effect and outcome are one commit
//	gateway      two semel gateways on one store, before an application without keys
//	soak         the same at half of the rate that they can serve; played only when -only names it
//
// A log belongs to one process, so on a log one child asks with the goroutines of all, and one gateway serves.
//
// All kinds but clock and soak suffer every fault at once: the processes are killed at
// random instants and started again, stopped for longer than a lease, their
// connections break, replies are lost after the step was taken, and all
// processes of the database server are killed.
//
// In a soak the application dies and the store crashes at times, but the gateways
// live long, after their secrets have been replaced in the first quarter.
//
// # How a history is recorded
//
// The processes are this program again. Each has a few goroutines. A goroutine
// writes a line before it asks and another when it has the answer, each with
// one system call, so that a file ends where its process was killed. Lines carry
// CLOCK_MONOTONIC, which all processes of a Linux machine share and which
// cannot be set: a step that was answered before another was asked for came
// before it, and no other order is assumed.
//
// A line without an answer, and an answer that is an error without a sentinel,
// mean that the step was taken at any time since, or never.
//
// # How it is judged
//
// The steps of a store have to be linearizable. The model (model.go) is one
// intent: what is known of its record, with each time as the span in which it
// lies. Spans shrink to instants when an answer shows them. A step is allowed
// when the store's clock may have been, between question and answer, where the
// contract wants it: a claim is taken over from the instant on at which its
// lease ends, and a record is forgotten from the instant on at which it expires.
// The store's clock is that of the machine, or with jumps at most their sum away
// from it. Intents come and go, so that each has a few hundred steps, and
// package porcupine searches an order for each on its own. A search that finds
// neither an order nor that none exists counts as undecided, which fails like a
// violation. Over all intents together, fences must grow and none may be given
// twice (fences.go).
//
// The other kinds are judged by their effects (answers.go), each of which leaves
// a line in a file or a row in the database: an intent has at most one effect,
// all its answers are the same, and an answer has its effect. In transaction
// mode, the keys with an effect and those with a recorded outcome are the same.
// In a soak nothing may grow from the third fifth to the last (soak.go): the
// gateways' memory, goroutines and descriptors, and the store's files.
package main
