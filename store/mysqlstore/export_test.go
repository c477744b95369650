package mysqlstore

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/semel-dev/semel/store/internal/together"
)

// Ticking makes the store's clock run ahead of the database's by what a table
// says, which TickTable makes.
func Ticking(o *Options) *Options {
	full := *o
	full.now = "(" + nowSQL + " + (SELECT ms FROM `" + o.TablePrefix + "tick`))"
	return &full
}

// Shifted makes the store's clock run ahead of the database's by what the
// connection's variable @ahead says, in milliseconds.
func Shifted(o *Options) *Options {
	full := *o
	full.now = "(" + nowSQL + " + COALESCE(@ahead, 0))"
	return &full
}

// WithoutReturning makes a store insert as it does on MySQL.
func WithoutReturning(o *Options) *Options {
	full := *o
	full.deny.returning = true
	return &full
}

// WithoutTogether makes a store insert as it does on MySQL, through a pool
// that sends one statement at a time.
func WithoutTogether(o *Options) *Options {
	full := *WithoutReturning(o)
	full.deny.together = true
	return &full
}

// Ways says how a store inserts.
func (s *Store) Ways() string {
	switch {
	case s.ways.returning:
		return "returning"
	case s.ways.together:
		return "together"
	}
	return "one by one"
}

// Statement is the text of a statement for n rows, as the store sends it.
func (s *Store) Statement(name string, n int) (string, error) { return s.text(name, n) }

// Forget makes the store think that it has not seen any digest.
func (s *Store) Forget() {
	for i := range s.seen {
		s.seen[i].Store(0)
	}
}

// MigrationLock is the name of the lock under which tables are migrated.
func MigrationLock(database, prefix string) string {
	return lockName(database, "`"+prefix+"migration`")
}

// Session is a variable of the store's own connections.
func (s *Store) Session(ctx context.Context, name string) (value string, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT @@"+name).Scan(&value)
	return value, err
}

// HoldLanes keeps shared transactions from leaving until release is called.
func (s *Store) HoldLanes(ctx context.Context) (release func(), err error) {
	var held []*sql.Conn
	release = func() {
		for _, c := range held {
			_ = c.Close() // it only gives it back
		}
		held = nil
	}
	for range together.Lanes {
		c, err := s.runs.db.Conn(ctx)
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, c)
	}
	return release, nil
}

// Lanes are the numbers of the connections of shared transactions.
func (s *Store) Lanes(ctx context.Context) (ids []string, err error) {
	for range together.Lanes {
		c, err := s.runs.db.Conn(ctx)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		var id string
		if err := c.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, nil
}

// Waiting counts the calls that wait to share a transaction.
func (s *Store) Waiting() int { return s.runs.Waiting() }

// Unhurried lets shared transactions wait for their functions for as long as a test may run.
func (s *Store) Unhurried() { s.runs.work = time.Hour }
