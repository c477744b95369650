// Package plan writes the SQL after which a database enforces the uniqueness
// rules of a rules file: the right statements for the server, that let others
// read and write meanwhile where the server can, as plain SQL with comments or as
// migrations of goose, golang-migrate or tern.
//
// It looks before: where rows are the same by a rule already, nothing is planned
// for that rule, and the plan points at them. It runs nothing itself.
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
// The database is authoritative at every arrow: a plan holds for what it was
// made from, an interrupted one leaves nothing that looks as if it enforced the
// rule, and the next plan takes up what is there.
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
// stand for the term: a constant in place of NULL, and whether it is NULL. No
// value of a row can be taken for NULL by that.
package plan
