// Command model explores Semel's protocol exhaustively: every order in which
// hosts, network, store and operator can act, within a stated bound, over the
// very transition table (internal/transition) on which the guard and memstore run.
// After every step a monitor compares the answers of the store, the effects of the
// work and the replies to callers with the promises of docs/guarantees.md. The
// first breach is shown as the shortest way to it.
//
//	go run ./proof/model                             every scenario
//	go run ./proof/model -only clocks                one of them
//
// `make mutate MUTANT=^model:` takes each line of the table and of the protocol
// out, and expects a scenario to break a promise.
//
// # What a host does
//
//	        ┌── lost, late, repeated, given up ──┐
//	idle ─▶ claiming ──won──▶ working ⇄ held up ─▶ settling ─▶ idle (the caller hears)
//	          ▲  │              │ ▲ heartbeat
//	          │  │ met a record └─┘
//	          │  ├──▶ looking (waits for its twin) ──▶ claiming, or the answer
//	          │  └──▶ takes over ──▶ finding (reconcile) ──▶ working or settling
//	          └ crash: everything is forgotten, at any instant
//
// A request is on its way, then executed by the store in one step, then its
// reply is on its way; time may pass in between. An abandoned request is lost, or
// stays under way and arrives at any time. The store is
// authoritative; its time passes in ticks. A holder that is held up executes
// without having looked at its clock.
//
// # What is left out
//
// The effects are counted, not performed; outcomes are the number of the claim
// that made them. Fences are numbered in their order, so that a store never
// gives one twice is taken for granted here (storetest and the stores' own tests
// attack it). A store keeps what it has: crashes of the database, failover and
// what is lost by it are left to proof/prove and the stores.
// Bodies, bounds of size, ErrFull, dedup mode, answers that are not kept,
// Detach and MaxRun do not appear; nor do clocks that run faster than the
// store's, because losing a lease early is the same as doing nothing. Two scopes
// are two places in the store, so that promise 5 is only as strong as the
// digest. Of promise 8 only the bound of waiters is here. The steps of the
// guard (host.go, decide.go, work.go) are written again for the model; only the
// table and the margin of the lease are the code's own.
//
// States seen before are known by 128 bits of hash; that two of some millions
// share them is less likely than one in 10^24.
package main
