// Package verify compares the uniqueness rules of a rules file with a live
// database, and with files of SQL that write to it: indexes that are missing,
// wider or narrower than the rule, or that enforce nothing, and rows that break
// a rule already.
//
// It only reads. A finding has a stable [Code], a place in the rules file or a
// file of SQL, a sentence and what to do; docs/rules-verify.md lists all codes
// and the wrong schemas that each was tried on.
//
// # How an index is compared
//
// The order of columns does not matter to uniqueness and is not compared. A
// generated column counts as the expression that it is generated from, and a
// column or expression that is NULL for rows that do not count (CASE WHEN … THEN
// … END) as the predicate of a partial index. Where NULL is to be the same as
// NULL, three forms are known: NULLS NOT DISTINCT, coalesce(column, constant)
// with or without (column IS NULL) next to it, and one partial index for each set
// of columns that can be NULL.
//
// An index under a collation that ignores case serves for lower(column), if the
// collation respects accents.
//
// # What it does not see
//
// Spaces at the end of a text: most collations of MySQL and MariaDB say that 'a'
// is 'a ', and char(n) of PostgreSQL does. Triggers, rules and settings that a
// session changes. Rows that other sessions write meanwhile. SQL that a program
// builds at run time.
package verify
