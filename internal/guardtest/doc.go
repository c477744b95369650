// Package guardtest races guards against each other on real databases. Only
// tests import it.
//
// A guard's test has three parts: [Each] runs on every database by every
// driver, [Race] sends many callers at the same key at the same moment, and
// [Effects] counts what took place. The same race of code that looks first and
// writes then must come to another count: one that it survives shows nothing.
package guardtest
