// Package table is the engine of the stores in SQLite files: the statements,
// how their rows become records, and the verbs, over a [Session] that each
// store fills with its own driver. The stores differ in the names of their two
// tables, in who holds the file's write lock for how long, and in their errors.
package table
