// Package release holds the tests of the scripts that judge and make a release, in small repositories of their own.
package release
