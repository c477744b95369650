// Package storefault puts failures between a [semel.Store] and whoever uses
// it: the step that was never taken, the step that was taken but whose reply
// was lost, the step that takes long, the store that nobody reaches.
//
// The second is the one that matters: a caller that takes an error for "it did
// not happen" loses a settlement or keeps a claim that it does not know of.
// Every verb of a store is safe to repeat, so the right answer to all four is
// to ask again; this package makes tests of that deterministic.
package storefault
