package guardtest

import (
	"context"
	"testing"

	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/internal/dialect"
)

// Effects is a table without any constraint, in which work leaves one row every
// time it is done. Its methods are safe for concurrent use.
type Effects struct {
	db  *Database
	add string
}

// NewEffects makes the table, which is empty.
func NewEffects(tb testing.TB, db *Database) *Effects {
	tb.Helper()
	db.Run(tb, "CREATE TABLE effect (k int NOT NULL)", "CREATE INDEX effect_k ON effect (k)")
	return &Effects{db, "INSERT INTO effect (k) VALUES (" + dialect.Dialect(db.Dialect()).Placeholder(1) + ")"}
}

// Add is the work for a key: one row more, in the transaction of s.
func (e *Effects) Add(ctx context.Context, s dbguard.Session, key int) error {
	//semel:safe its rows count the runs, in the transaction of the guard
	_, err := s.Exec(ctx, e.add, key)
	return err
}

// Wrong says how many of the keys 0 to keys-1 do not have exactly one effect.
func (e *Effects) Wrong(tb testing.TB, keys int) int {
	tb.Helper()
	once := e.db.Number(tb, "SELECT count(*) FROM (SELECT k FROM effect GROUP BY k HAVING count(*) = 1) AS once")
	return keys - int(once)
}

// Check reports keys that do not have exactly one effect.
func (e *Effects) Check(tb testing.TB, keys int) {
	tb.Helper()
	if wrong := e.Wrong(tb, keys); wrong != 0 {
		tb.Errorf("%d of %d keys do not have exactly one effect; there are %d effects", wrong, keys,
			e.db.Number(tb, "SELECT count(*) FROM effect"))
	}
}
