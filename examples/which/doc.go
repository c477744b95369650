// Package which has the programs of docs/which.md, as examples that run.
package which
