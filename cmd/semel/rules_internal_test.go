package main

import (
	"context"
	"database/sql"
	"errors"
	"os"
)

// runSQLCommand runs the statements of a file in an SQLite database, which it creates if necessary.
func runSQLCommand(args []string, stderr *os.File) int {
	if len(args) != 2 {
		return fail(stderr, errors.New("usage: run-sql FILE SQL"))
	}
	text, err := os.ReadFile(args[1])
	if err != nil {
		return fail(stderr, err)
	}
	db, err := sql.Open("sqlite", args[0])
	if err != nil {
		return fail(stderr, err)
	}
	_, err = db.ExecContext(context.Background(), string(text))
	if err := errors.Join(err, db.Close()); err != nil {
		return fail(stderr, err)
	}
	return 0
}
