// Package draft writes a first rules file from what a database enforces already:
// a rule for each unique index and constraint that says something about the
// business, in guessed words for people to improve.
//
// A rule that the rules file cannot express, or that would not verify, becomes a
// comment with the reason; so do columns that look unique and are not.
package draft
