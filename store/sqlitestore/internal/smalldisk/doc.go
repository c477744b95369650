// Package smalldisk gives a test a file system of its own, so small that it
// can be filled.
package smalldisk
