// Command prove attacks every promise of docs/guarantees.md and prints a line
// for each: how it was attacked, how many operations and faults that took, and
// how often it was broken, which must be never.
//
//	model      internal/model: every state up to a bound
//	histories  internal/histories: several processes over real stores, under faults
//	torture    internal/torture: the real program, killed at random
//	tests      the tests that docs/guarantees.md names under the promise
//
// A promise that nothing has attacked, or whose attack did not come to its end,
// counts as broken: nothing is proved by silence.
package main
