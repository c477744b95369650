// Package live reads the definitions of a database's tables from the database itself, as the
// statements that would define them again. The linter reads those as it reads a file, so that a live
// schema and one in files lead to the same verdicts.
package live

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/schema/catalog"
)

//go:embed sql/*.sql
var statements embed.FS

// maxRows bounds the rows of each kind.
const maxRows = catalog.MaxRows

// Schema holds the definitions of a database.
type Schema struct {
	// Database is the one that MySQL's names without a database mean; otherwise empty.
	Database string
	// Mode is the sql_mode of MySQL that sessions start with.
	Mode string
	// Definitions are in an order in which each finds what it refers to.
	Definitions []Definition
}

// Definition is a statement that defines something.
type Definition struct {
	Object string // for messages: "table orders"
	Text   string // empty when it could not be read
	Why    string // it could not be read
}

// Read reads the definitions in one read-only transaction: in PostgreSQL of all schemas, in MySQL of the
// database of the connection, in SQLite of the main file. Errors hold neither values of rows nor the DSN.
func Read(ctx context.Context, db *sql.DB, d dialect.Dialect) (*Schema, error) {
	tx, err := db.BeginTx(ctx, options(d))
	if err != nil {
		return nil, fmt.Errorf("begin: %w", catalog.Explain(err))
	}
	defer tx.Rollback() //nolint:errcheck // it only read.
	r := &reader{tx: tx, schema: &Schema{}}
	switch d {
	case dialect.PostgreSQL:
		err = r.postgres(ctx)
	case dialect.MySQL:
		err = r.mysql(ctx)
	case dialect.SQLite:
		err = r.query(ctx, "sqlite_objects", r.object)
	}
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", catalog.Explain(err))
	}
	return r.schema, nil
}

func options(d dialect.Dialect) *sql.TxOptions {
	if d == dialect.PostgreSQL { // all queries see one state
		return &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}
	}
	return &sql.TxOptions{ReadOnly: true}
}

// reader collects definitions.
type reader struct {
	tx     *sql.Tx
	schema *Schema
}

// add adds a definition.
func (r *reader) add(object, text string) {
	r.schema.Definitions = append(r.schema.Definitions, Definition{Object: object, Text: text})
}

// unread adds something that could not be read.
func (r *reader) unread(object, why string) {
	r.schema.Definitions = append(r.schema.Definitions, Definition{Object: object, Why: why})
}

// object reads a row of kind, name and text.
func (r *reader) object(rows *sql.Rows) error {
	var kind, name, text string
	if err := rows.Scan(&kind, &name, &text); err != nil {
		return err
	}
	r.add(kind+" "+name, text)
	return nil
}

// query runs an embedded statement, and each for every row.
func (r *reader) query(ctx context.Context, name string, each func(*sql.Rows) error) error {
	text, err := statements.ReadFile("sql/" + name + ".sql")
	if err != nil {
		return err
	}
	if err := r.eachRow(ctx, string(text), each); err != nil {
		return fmt.Errorf("%s: %w", strings.ReplaceAll(name, "_", " "), err)
	}
	return nil
}

func (r *reader) eachRow(ctx context.Context, text string, each func(*sql.Rows) error) (err error) {
	rows, err := r.tx.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for count := 0; rows.Next(); count++ {
		if count == maxRows {
			return fmt.Errorf("there are more than %d rows (use a database user who sees fewer tables)", maxRows)
		}
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
