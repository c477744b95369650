// Package slowstore tests the gateway in front of stores that are slow, or do
// not answer at all, behind a proxy that holds the wire to real servers. Stores
// in files have no wire; store/logstore tests a disk that hangs.
package slowstore
