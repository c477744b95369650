// Package tree holds SQL statements in one form for all dialects, as the rules of the linter
// look at them. The parsers' own trees stay in the packages that translate them.
//
// Names are as the database compares them: a translator folds identifiers that are not quoted, and in
// MySQL and SQLite all names of columns, to lower case. Nothing is dropped in silence: what a
// translator does not know becomes [Opaque], [Raw] or [Unknown] with the reason, and the rules
// then cannot tell.
package tree
