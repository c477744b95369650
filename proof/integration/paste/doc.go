// Package paste holds the tests that do with the documentation what its readers
// do: they paste its commands and programs, as they are written, and run them.
package paste
