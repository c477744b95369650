package command

import (
	"context"
	"database/sql"
	"errors"
	"os"
)

// runSQLCommand runs the statements of a file in an SQLite database, which it creates if necessary.
func runSQLCommand(args []string) error {
	text, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", args[0])
	if err != nil {
		return err
	}
	_, err = db.ExecContext(context.Background(), string(text))
	return errors.Join(err, db.Close())
}
