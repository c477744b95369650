// Package foreign judges the judge: semel check examines libraries for idempotency keys that others wrote, each in
// front of the same small shop, and comes to the verdicts that are known of them. These were found without it, by
// reading the library and by sending requests by hand.
//
// The services of testdata run in Node, those of the nested module services are one program in Go: nothing of theirs is
// a dependency of Semel.
package foreign
