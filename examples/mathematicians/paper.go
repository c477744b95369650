package mathematicians

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"

	"github.com/semel-dev/semel/ids"
)

var (
	//go:embed sql/insert_paper.sql
	insertPaperSQL string
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

func (p *paper) scan(row interface{ Scan(dest ...any) error }) error {
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
	var p paper
	err := d.inTransaction(ctx, func(tx *sql.Tx) error {
		if err := insert(ctx, tx, insertPaperSQL, asked.unique, asked.author[:], asked.title); err != nil {
			return err
		}
		if err := p.scan(tx.QueryRowContext(ctx, findPaperSQL, asked.unique[:])); errors.Is(err, errNotFound) {
			return absence(ctx, tx, kindPaper, asked.unique, errNoAuthor)
		} else if err != nil {
			return err
		}
		if p != asked {
			return errOtherBody
		}
		return nil
	})
	return p, err
}

func (d *database) findPaper(ctx context.Context, id ids.UUID) (paper, error) {
	var p paper
	return p, p.scan(d.db.QueryRowContext(ctx, findPaperSQL, id[:]))
}

// listPapers returns at most limit papers of an author after the one with this id.
func (d *database) listPapers(ctx context.Context, author, after ids.UUID, limit int) ([]paper, error) {
	m, err := d.findMathematician(ctx, author)
	if err != nil {
		return nil, err
	}
	rows, err := d.db.QueryContext(ctx, listPapersSQL, m.row, after[:], limit)
	if err != nil {
		return nil, fmt.Errorf("list papers: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells.
	var found []paper
	for rows.Next() {
		var p paper
		if err := p.scan(rows); err != nil {
			return nil, err
		}
		found = append(found, p)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list papers: %w", err)
	}
	return found, nil
}
