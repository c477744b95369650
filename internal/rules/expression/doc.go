// Package expression is the small language in which a rules file says what of a
// row must not be there twice, and its translation to and from the SQL of each
// database.
//
// An expression is a column, or a function of one:
//
//	number  "Odd Name"             a column, quoted where it is no plain word
//	lower(x) upper(x) trim(x)      text; trim takes spaces away, at both ends
//	year(x) month(x) day(x)        of a date or a time without a zone
//	hour(x) date(x)                of a time without a zone
//	year(utc(x))                   of a time with a zone (PostgreSQL, SQLite)
//	coalesce(x, 'none')            a constant in place of NULL: text or a whole number
//	is_null(x)                     whether the column is NULL
//
// What is here can stand in a unique index of PostgreSQL and SQLite and in a
// generated column of MySQL and MariaDB: it gives the same for the same row
// whoever asks, and whenever. What cannot is refused with what to write instead.
//
// # What differs between databases
//
// Letters: lower and upper know the letters A to Z only in SQLite, and in
// PostgreSQL under the collation C; elsewhere they go by the collation. Spaces:
// trim takes the character U+0020 away and nothing else, everywhere. Times: in
// SQLite a value that is no date gives NULL, and NULL collides with nothing; a
// value with an offset counts in UTC. Text: a collation that ignores case or
// accents makes more values the same than the expression says (internal/rules/catalog
// tells).
package expression
