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
	//go:embed sql/find_paper.sql
	findPaperSQL string
	//go:embed sql/list_papers.sql
	listPapersSQL string
)

// paper is a row, with its author's public id. It never changes.
type paper struct {
	unique ids.UUID
	author ids.UUID
	title  string
}

func (p *paper) scan(row sqlite.Row) error {
	err := row.Scan(&p.unique, &p.author, &p.title)
	if errors.Is(err, sql.ErrNoRows) {
		return errNotFound
	}
	if err != nil {
		return fmt.Errorf("read a paper: %w", err)
	}
	return nil
}

// createPaper is createMathematician's twin for what belongs to one.
func (d *database) createPaper(ctx context.Context, asked paper) (paper, error) {
	err := d.inTransaction(ctx, func(tx *sql.Tx) error {
		if err := d.useID(ctx, tx, kindPaper, asked.unique); err != nil {
			return err
		}
		var author mathematician
		if err := author.scan(tx.QueryRowContext(ctx, findMathematicianSQL, asked.author[:])); errors.Is(err, errNotFound) {
			return errNoAuthor
		} else if err != nil {
			return err
		}
		same, _, err := dbguard.CreateOrReuse(ctx, dbguard.SQL(dbguard.SQLite, tx), &dbguard.Insert{
			Table:     "papers",
			Columns:   []string{"unique_id", "author", "title"},
			Values:    []any{asked.unique[:], author.row, asked.title},
			Unique:    dbguard.Target{Columns: []string{"unique_id"}},
			Returning: []string{"author", "title"},
		}, func(rows dbguard.Rows) (same bool, err error) {
			var row ids.Internal
			var title string
			err = rows.Scan(&row, &title)
			return row == author.row && title == asked.title, err
		})
		if err != nil {
			return fmt.Errorf("create a paper: %w", err)
		}
		if !same {
			return errOtherBody
		}
		return nil
	})
	return asked, err
}

func (d *database) findPaper(ctx context.Context, id ids.UUID) (paper, error) {
	var p paper
	err := p.scan(d.db.QueryRowContext(ctx, findPaperSQL, id[:]))
	return p, err
}

// listPapers returns at most limit papers of an author after the one with this id.
func (d *database) listPapers(ctx context.Context, author, after ids.UUID, limit int) ([]paper, error) {
	m, err := d.findMathematician(ctx, author)
	if err != nil {
		return nil, err
	}
	return sqlite.List(ctx, d.db, "list papers", (*paper).scan, listPapersSQL, m.row, after[:], limit)
}
