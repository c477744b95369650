// Package serversql reads expressions and predicates of indexes as servers write them back into their catalogues, and as people type
// them into SQLite. What the language of rules cannot express is not guessed: [Same] compares its text.
package serversql
