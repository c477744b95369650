// Package openstore turns a DSN, the name of a store as an operator writes it,
// into a [semel.Store]:
//
//	memory:                        in this process; gone when it ends
//	sqlite:semel.db                a file in the working directory
//	sqlite:/var/lib/semel/semel.db a file anywhere
//
// It is the one package that imports every store and its driver.
package openstore
