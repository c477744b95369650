// Package storetest is the contract of [semel.Store] as a test suite, for the
// authors of stores. A store's test file is a harness and little else:
//
//	func TestStore(t *testing.T)            { storetest.Run(t, open) }
//	func TestStoreUnderFaults(t *testing.T) { storetest.RunFaults(t, open) }
//
// Every sentence of the contract is a rule with a name, and the promise of
// the project's guarantees that it keeps. A failure names both:
//
//	claim/takeover-lapsed: the fence must grow (promise 1): got 7, want > 7
//
// In addition to the rules, which are table tests, the suite compares random
// sequences of verbs with a model (rule "model/sequences"), and checks histories
// of concurrent verbs for linearizability ("history/linearizable").
//
// Time never passes on its own in the suite: it asks the [Instance] to move the
// store's clock. A store whose clock cannot be moved cannot run it.
//
// [RunTx] is the same for stores whose database also holds the business rows: the
// contract of [semel.Transactor] and [semel.Tx], and the behaviour of a guard on
// it.
package storetest
