// Package storetest is the contract of [semel.Store] as a test suite, for the
// authors of stores. A store's test file is a harness and little else:
//
//	func TestStore(t *testing.T)            { storetest.Run(t, open) }
//	func TestStoreUnderFaults(t *testing.T) { storetest.RunFaults(t, open) }
//	func BenchmarkStore(b *testing.B)       { storetest.Benchmark(b, open) }
//
// Every sentence of the contract is one [Rule] with a name, and the promise of
// the project's guarantees that it keeps. A failure names both:
//
//	claim/takeover-lapsed: the fence must grow (promise 1): got 7, want > 7
//
// Beside the rules, which are table tests, the suite holds a model that random
// sequences of verbs are compared with (rule "model/sequences"), and histories
// of concurrent verbs that are checked for linearizability ("history/linearizable").
//
// Time never passes by itself in the suite: it asks the [Instance] to move the
// store's clock. A store whose clock cannot be moved cannot run it.
//
// [RunTx] is the same for stores whose database also holds the business rows:
// the contract of [semel.Transactor] and [semel.Tx], and what a guard makes of it.
//
// [Race] is the part that needs neither a test nor a clock: it races several
// open stores against each other over one live database.
package storetest
