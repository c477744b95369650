// Package openstore turns a DSN, the name of a store as an operator writes it,
// into a [semel.Store]:
//
//	memory:                              in this process; gone when it ends
//	sqlite:semel.db                      a file in the working directory
//	sqlite:/var/lib/semel/semel.db       a file anywhere
//	log:/var/lib/semel/log               a directory that one process has at a time
//	postgres://app@db.example/shop       a PostgreSQL database
//	mysql://app@db.example/shop          a MySQL or MariaDB database
//	redis://db.example:6379              a Redis or Valkey server; rediss: over TLS
//
// Parameters of a DSN that begin with semel_ are Semel's own, all others the
// driver's (docs/storage.md).
//
// It is the one package that imports every store and its driver.
package openstore
