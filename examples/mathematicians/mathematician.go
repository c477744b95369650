package mathematicians

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"

	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/examples/internal/sqlite"
	"github.com/semel-dev/semel/ids"
)

var (
	//go:embed sql/find_mathematician.sql
	findMathematicianSQL string
	//go:embed sql/list_mathematicians.sql
	listMathematiciansSQL string
	//go:embed sql/rename_mathematician.sql
	renameMathematicianSQL string
)

// mathematician is a row. The number of the row goes to no client: the type
// refuses it.
type mathematician struct {
	row         ids.Internal
	unique      ids.UUID
	name        name
	createdName name
	version     int64
}

// name has two parts; one may be empty.
type name struct {
	First string `json:"firstName"`
	Last  string `json:"lastName"`
}

func (m *mathematician) scan(row sqlite.Row) error {
	err := row.Scan(&m.row, &m.unique, &m.name.First, &m.name.Last, &m.createdName.First, &m.createdName.Last, &m.version)
	if errors.Is(err, sql.ErrNoRows) {
		return errNotFound
	}
	if err != nil {
		return fmt.Errorf("read a mathematician: %w", err)
	}
	return nil
}

func readMathematician(rows dbguard.Rows) (mathematician, error) {
	var m mathematician
	err := m.scan(rows)
	return m, err
}

// createMathematician inserts the row unless it is there, and returns it: as it
// was created, whatever has changed since.
func (d *database) createMathematician(ctx context.Context, id ids.UUID, asked name) (mathematician, error) {
	var m mathematician
	err := d.inTransaction(ctx, func(tx *sql.Tx) error {
		if err := d.useID(ctx, tx, kindMathematician, id); err != nil {
			return err
		}
		var err error
		m, _, err = dbguard.CreateOrReuse(ctx, dbguard.SQL(dbguard.SQLite, tx), &dbguard.Insert{
			Table:     "mathematicians",
			Columns:   []string{"unique_id", "first_name", "last_name", "created_first_name", "created_last_name"},
			Values:    []any{id[:], asked.First, asked.Last, asked.First, asked.Last},
			Unique:    dbguard.Target{Columns: []string{"unique_id"}},
			Returning: []string{"id", "unique_id", "first_name", "last_name", "created_first_name", "created_last_name", "version"},
		}, readMathematician)
		if err != nil {
			return fmt.Errorf("create a mathematician: %w", err)
		}
		if m.createdName != asked {
			return errOtherBody
		}
		m.name = m.createdName
		return nil
	})
	return m, err
}

func (d *database) findMathematician(ctx context.Context, id ids.UUID) (mathematician, error) {
	var m mathematician
	err := m.scan(d.db.QueryRowContext(ctx, findMathematicianSQL, id[:]))
	return m, err
}

// renameMathematician sets the name. matches says whether the version that is
// there is one that the caller has seen.
func (d *database) renameMathematician(ctx context.Context, id ids.UUID, asked name, matches func(version int64) bool) (mathematician, error) {
	var m mathematician
	err := d.inTransaction(ctx, func(tx *sql.Tx) error {
		if err := m.scan(tx.QueryRowContext(ctx, findMathematicianSQL, id[:])); err != nil {
			return err
		}
		if !matches(m.version) {
			return errStale
		}
		if _, err := tx.ExecContext(ctx, renameMathematicianSQL, m.row, asked.First, asked.Last); err != nil {
			return fmt.Errorf("rename a mathematician: %w", err)
		}
		return m.scan(tx.QueryRowContext(ctx, findMathematicianSQL, id[:]))
	})
	return m, err
}

// listMathematicians returns at most limit rows after the one with this id, in
// the order of their ids.
func (d *database) listMathematicians(ctx context.Context, after ids.UUID, limit int) ([]mathematician, error) {
	return sqlite.List(ctx, d.db, "list mathematicians", (*mathematician).scan, listMathematiciansSQL, after[:], limit)
}
