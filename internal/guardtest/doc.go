// Package guardtest races guards against each other on real databases. Only
// tests import it.
//
// A guard's test has three parts: [Databases] opens every database by every
// driver, [Race] sends many callers at the same key at the same moment, and
// [Effects] counts what took place. The same test with the select-then-insert that
// usual code ([Effects.Naive]) must come to another count: a race that
// the naive way survives shows nothing.
package guardtest
