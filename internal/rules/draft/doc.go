// Package draft writes a first rules file from what a database enforces
// already: a rule for each unique index and constraint that says something about
// the business, in words that are a guess for people to better.
//
// What a database does not say cannot be drafted. What it says in a way that the
// rules file cannot, or that would not verify, stands in the draft as a comment
// with the reason; so do columns that look unique and are not.
package draft
