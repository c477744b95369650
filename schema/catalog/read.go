package catalog

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
)

//go:embed sql/*.sql
var statements embed.FS

// MaxRows bounds the tables, columns or parts of indexes that are read.
const MaxRows = 200_000

// Read reads the schema in one read-only transaction. In PostgreSQL it reads all
// schemas, in SQLite all attached databases; in MySQL the database of the
// connection, and those named in others.
//
// It is an error when the user may see nothing, and when there are more than
// [MaxRows] rows of one kind. Errors hold neither values of rows nor the DSN.
func Read(ctx context.Context, db *sql.DB, d dialect.Dialect, others ...string) (*Schema, error) {
	tx, err := db.BeginTx(ctx, options(d))
	if err != nil {
		return nil, fmt.Errorf("catalog: begin: %w", Explain(err))
	}
	defer tx.Rollback() //nolint:errcheck // it only read.
	r := &reader{tx: tx, schema: &Schema{Dialect: d}, places: make(map[[2]string]int)}
	switch d {
	case dialect.PostgreSQL:
		err = r.postgres(ctx)
	case dialect.MySQL:
		err = r.mysql(ctx, others)
	case dialect.SQLite:
		err = r.sqlite(ctx)
	default:
		err = fmt.Errorf("%s cannot be read", d)
	}
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", Explain(err))
	}
	return r.schema, nil
}

func options(d dialect.Dialect) *sql.TxOptions {
	if d == dialect.PostgreSQL { // all queries see one state
		return &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}
	}
	return &sql.TxOptions{ReadOnly: true}
}

// reader fills a schema.
type reader struct {
	tx     *sql.Tx
	schema *Schema
	places map[[2]string]int // schema and name of a table to its place
}

// add puts a table into the schema.
func (r *reader) add(t Table) {
	r.places[[2]string{t.Schema, t.Name}] = len(r.schema.Tables)
	r.schema.Tables = append(r.schema.Tables, t)
}

// table finds a table that was added, or nil for one that is left out.
func (r *reader) table(schema, name string) *Table {
	i, ok := r.places[[2]string{schema, name}]
	if !ok {
		return nil
	}
	return &r.schema.Tables[i]
}

// part adds a part to an index, and the index where it is the first.
func (t *Table) part(x Index, p Part) {
	last := len(t.Indexes) - 1
	if last < 0 || t.Indexes[last].Name != x.Name {
		t.Indexes = append(t.Indexes, x)
		last++
	}
	t.Indexes[last].Parts = append(t.Indexes[last].Parts, p)
}

// query runs an embedded statement, and each for every row.
func (r *reader) query(ctx context.Context, name string, each func(*sql.Rows) error, args ...any) error {
	text, err := statements.ReadFile("sql/" + name + ".sql")
	if err != nil {
		return err
	}
	return r.each(ctx, name, string(text), each, args...)
}

// each runs a statement, and scan for every row.
func (r *reader) each(ctx context.Context, name, text string, scan func(*sql.Rows) error, args ...any) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("read %s: %w", strings.ReplaceAll(name, "_", " "), err)
		}
	}()
	rows, err := r.tx.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err says what went wrong.
	for count := 0; rows.Next(); count++ {
		if count == MaxRows {
			return fmt.Errorf("more than %d rows; use a database user who sees fewer tables", MaxRows)
		}
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// list splits text that the queries join with a control character.
func list(joined string) []string {
	if joined == "" {
		return nil
	}
	return strings.Split(joined, "\x01")
}

// base is a type in lower case without size and attributes.
func base(name string) string {
	name, _, _ = strings.Cut(strings.ToLower(name), "(")
	return strings.TrimSpace(name)
}

// mintedBy reports whether a default makes a value that no other row has.
func mintedBy(expression string) bool {
	lower := strings.ToLower(expression)
	return slices.ContainsFunc([]string{
		"nextval(", "nextval (", "next value for", "lastval(", "gen_random_uuid(", "uuid_generate_v", "uuidv4(", "uuidv7(", "uuid(",
		"uuid_short(", "uuid_v4(", "uuid_v7(", "sys_guid(", "randomblob(", "random(",
	}, func(maker string) bool { return strings.Contains(lower, maker) })
}
