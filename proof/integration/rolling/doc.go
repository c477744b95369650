// Package rolling holds tests of two versions of Semel on one store: what the
// previous one recorded is replayed byte for byte, and what this one records
// has the bytes that the previous one reads.
package rolling
