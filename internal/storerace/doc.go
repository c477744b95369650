// Package storerace races several open stores against each other over one live
// database, to find out whether its claims are exclusive there, with its
// version, isolation level and proxy. It needs neither a test nor control over
// the store's clock, and leaves nothing behind but records that expire within
// the hour.
//
// It can show that a store breaks promise 1, not that it keeps it: a race that
// did not happen was not lost. Package storetest holds the whole contract.
package storerace
