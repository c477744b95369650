// Package mysql translates statements of MySQL and MariaDB into the trees of package tree.
//
// The parser is marino. What it does not know of MariaDB (RETURNING, the types UUID and INET)
// and of Go programs (named parameters) is taken out of a copy of the statement first, in which all
// that remains keeps its place. Where the two servers read a statement differently, it is
// translated as both read it, and opaque if that is not the same.
//
// Names of tables are in lower case, as lower_case_table_names=1 compares them: on a server
// where T and t are two tables, the linter sees one. [tree.Op] "or" that was written
// || says so, for sql_mode may turn it into a concatenation. Double quotes are strings, and a
// backslash escapes.
//
// An assignment of UPDATE sees those on its left, as everywhere but under the sql_mode
// SIMULTANEOUS_ASSIGNMENT of MariaDB.
//
// Values that the database converts to the type of a column before they are read again (a column
// of the row in VALUES, or one that ON DUPLICATE KEY UPDATE assigned already) are a [tree.Cast] to
// "column NAME". COLLATE is a [tree.Cast] to "collate NAME".
package mysql
