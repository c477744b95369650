// Package transaction holds tests of the HTTP middleware in transaction mode on
// the databases that offer it.
package transaction
