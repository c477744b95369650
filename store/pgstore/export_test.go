package pgstore

import (
	"time"

	"github.com/jackc/pgx/v5"
)

// Ticking makes the store's clock run ahead of the database's by what the
// schema's table tick says.
func Ticking(o *Options) *Options {
	full := *o
	full.now = "(" + clock + " + (SELECT ms FROM " + pgx.Identifier{full.Schema, "tick"}.Sanitize() + "))"
	return &full
}

// Impatient bounds how old a claim's statement may be when its row is written.
func Impatient(o *Options, patience time.Duration) *Options {
	full := *o
	full.patience = patience
	return &full
}

// Deaf sets how long the store waits before it listens again after a failure.
func Deaf(o *Options, d time.Duration) *Options {
	full := *o
	full.retryListenAfter = max(d, 1)
	return &full
}

// Cockroach makes a store that does without what CockroachDB lacks.
func Cockroach(o *Options) *Options {
	full := *o
	full.plain = true
	return &full
}

// Statement is the text of a file in sql/, as the store sends it.
func (s *Store) Statement(name string) string { return s.sql[name] }

// SchemaName is the schema that the store uses.
func (s *Store) SchemaName() string { return s.schema }

// MaxOutcomeBytes is the largest outcome that is stored.
const MaxOutcomeBytes = maxOutcomeBytes

// LockOf is the number of the lock under which a schema is migrated.
func LockOf(schema string) int64 { return lockOf(schema) }

// Unhurried lets shared transactions wait for their functions for as long as a test may run.
func (s *Store) Unhurried() { s.runs.work = time.Hour }

// Waiting counts the statements that wait to share a transaction.
func (s *Store) Waiting() int { return s.execs.Waiting() + s.runs.Waiting() }
