// Package draft writes a first rules file from what a database enforces already:
// a rule for each unique index and constraint that says something about the
// business, in guessed words for people to improve.
//
// Columns that look unique, and that nothing enforces, are rules as well, each with a
// comment that says so and how many rows break it. A rule that the rules file cannot
// express, or that would not verify otherwise, is a comment with the reason.
package draft
