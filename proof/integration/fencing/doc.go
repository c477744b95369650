// Package fencing runs the statements of docs/guards.md on real databases:
// what another system needs to refuse a holder that lost its claim.
package fencing
