// Package postgres translates PostgreSQL statements to the tree of the linter. The grammar is that of
// PostgreSQL 18, read by a parser in Go; placeholders of sqlc, pgx and sqlx (@name, :name, ?) are
// rewritten to $n before it. So @n is never the absolute value of n, which is `@ n`.
//
// PostgreSQL's own operators keep their names, apart from these: ~ is "regexp", # is "^", ^ is a call of
// power, `x = ANY (array)` is "= any" (or "in" when the array is written out), COLLATE is the
// operator "collate" with the name of the collation as its second operand, a field of a row is
// ".name", and a subscript "[]".
package postgres
