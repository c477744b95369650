// Package plan writes the SQL that makes a database enforce the uniqueness rules
// of a rules file: statements for this server, which do not block readers and
// writers where the server allows that, as plain SQL with comments or as
// migrations of goose, golang-migrate or tern.
//
// It first looks for rows that break a rule: if there are any, it plans nothing
// for that rule, and lists them. It runs no statement of the plan.
//
//	          rows that break the rule
//	      ┌──────────────────────────────▶ refused (merge them, plan again) ─┐
//	rule ─┤ missing                     run                                  │
//	      ├─────────▶ planned ────────────────────▶ enforced                 │
//	      │               │ interrupted, or a duplicate came in between      │
//	      │               └──────────▶ half done ─── plan again ─────────────┤
//	      └─▶ enforced: no step                                              │
//	 ▲────────────────────────────────────────────────────────────────────────┘
//
// The database is authoritative at every arrow: a plan holds for the schema
// that it was made from, an interrupted one leaves nothing that looks as if it
// enforced the rule, and the next plan continues from there.
//
// # What it writes
//
// PostgreSQL: CREATE UNIQUE INDEX CONCURRENTLY, with expressions, a WHERE for
// exceptions, and NULLS NOT DISTINCT from version 15 on. Partitioned tables get
// the index partition by partition, and NOT NULL comes by a check that is
// validated without stopping writers. MySQL and MariaDB: generated columns, invisible where
// the server can, for expressions, exceptions and exact comparison, and a UNIQUE
// index by ALGORITHM=INPLACE, LOCK=NONE. SQLite: CREATE UNIQUE INDEX, during
// in which no other connection writes.
//
// Where NULL is to be the same as NULL and the server cannot say so, two parts
// represent the term: a constant in place of NULL, and whether it is NULL. So
// no value of a row is taken for NULL.
package plan
