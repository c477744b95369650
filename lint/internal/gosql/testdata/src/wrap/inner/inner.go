// Package inner hands SQL on.
package inner

import (
	"context"
	"database/sql"
	"fmt"
)

type DB interface {
	ExecContext(ctx context.Context, q string, args ...any) (sql.Result, error)
}

func Run(ctx context.Context, db DB, why, statement string, args ...any) error {
	_, err := db.ExecContext(ctx, statement, args...)
	return err
}

func Traced(ctx context.Context, db DB, q string) error {
	return Run(ctx, db, "traced", "/* traced */ "+q+" RETURNING id")
}

type Repo struct{ db *sql.DB }

func (r *Repo) Do(q string, args ...any) {
	q = q + ";"
	r.db.Exec(q, args...)
}

type Statement struct{ SQL string }

type List []Statement

func (l List) Prepare(db *sql.DB) {
	for _, s := range l {
		db.Prepare(s.SQL)
	}
}

// Params returns placeholders in parentheses.
func Params(count, offset int) string {
	s := "("
	for i := 0; i < count; i++ {
		s += fmt.Sprintf("$%d", i+offset+1)
		if i < count-1 {
			s += ", "
		}
	}
	return s + ")"
}
