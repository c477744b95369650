// Package expression is the small language in which a rules file says which
// part of a row must be unique, and its translation to and from the SQL of each
// database.
//
// An expression is a column, or a function of one:
//
//	number  "Odd Name"             a column, quoted unless it is a plain word
//	lower(x) upper(x) trim(x)      text; trim removes spaces at both ends
//	year(x) month(x) day(x)        of a date or a time without a zone
//	hour(x) date(x)                of a time without a zone
//	year(utc(x))                   of a time with a zone (PostgreSQL, SQLite)
//	coalesce(x, 'none')            a constant in place of NULL: text or a whole number
//	is_null(x)                     whether the column is NULL
//	collated(x)                    the column as its own collation or type compares it, such as
//	                               without case in citext, NOCASE and most collations of MySQL
//
// All of this works in a unique index of PostgreSQL and SQLite and in a generated
// column of MySQL and MariaDB: it gives the same result for the same row in any
// session, at any time. Anything else is refused with what to write instead.
//
// # What differs between databases
//
// Letters: lower and upper know the letters A to Z only in SQLite, and in PostgreSQL
// under the collation C; elsewhere they use the collation. Spaces: trim removes the
// character U+0020 only, everywhere. Times: in SQLite a malformed date gives NULL,
// and NULL collides with nothing; a value with an offset counts in UTC. Text: a
// collation that ignores case or accents makes more values the same than the
// expression says (schema/catalog reports it), which only collated(x) wants.
package expression
