package plan

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/catalog"
)

// maxGroupRows bounds the rows listed for one group.
const maxGroupRows = 5

// Duplicates points at rows that are the same by a rule.
type Duplicates struct {
	// Groups counts the groups of rows that are the same, Rows the rows in them.
	Groups int64 `json:"groups"`
	Rows   int64 `json:"rows"`
	// Key names the columns of the primary key, in its order; nil where the table
	// has none, or one that is not of numbers and UUIDs: it may be personal
	// (see [Options.Personal]).
	Key []string `json:"key,omitempty"`
	// Samples are the primary keys of the first rows of the first groups: group,
	// row, column. They are the only values of rows here.
	Samples [][][]string `json:"samples,omitempty"`
	// Select is the query that shows all of them.
	Select string `json:"select"`
}

// duplicates looks for rows that the index would refuse; nil when there are none.
func (m *maker) duplicates(ctx context.Context, s *shape) (*Duplicates, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, m.opts.Patience, ErrTooSlow)
	defer cancel()
	found := &Duplicates{Key: s.table.PrimaryKey(), Select: s.selectDuplicates()}
	count := "SELECT count(*), coalesce(sum(n), 0) FROM (SELECT count(*) AS n FROM " + s.path + s.counted() +
		" GROUP BY " + s.values() + " HAVING count(*) > 1) AS g"
	if err := m.db.QueryRowContext(ctx, count).Scan(&found.Groups, &found.Rows); err != nil {
		return nil, m.explain(ctx, err)
	}
	if found.Groups == 0 {
		return nil, nil //nolint:nilnil // there are none.
	}
	if !m.opts.Personal && !s.impersonal(found.Key) {
		found.Key = nil
	}
	if found.Key == nil {
		return found, nil
	}
	if err := m.sample(ctx, s, found); err != nil {
		return nil, m.explain(ctx, err)
	}
	return found, nil
}

// impersonal reports whether all columns hold numbers or UUIDs, which say nothing
// of a person.
func (s *shape) impersonal(key []string) bool {
	return !slices.ContainsFunc(key, func(name string) bool {
		column, ok := s.table.Column(name)
		return !ok || !strings.Contains(column.Base, "int") && column.Base != "uuid" && column.Base != "numeric" && column.Base != "decimal"
	})
}

func (m *maker) explain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, ErrTooSlow) {
		return fmt.Errorf("%w: more than %s", ErrTooSlow, m.opts.Patience)
	}
	return fmt.Errorf("look for duplicates: %w", catalog.Explain(err))
}

// sample reads the primary keys of the first groups.
func (m *maker) sample(ctx context.Context, s *shape, found *Duplicates) error {
	keys, values := strings.Join(texts.Of(found.Key, s.dialect.Quote), ", "), s.values()
	query := "SELECT g, " + keys + " FROM (SELECT " + keys + //nolint:gosec // names are quoted, and expressions are the rules file's own.
		", count(*) OVER (PARTITION BY " + values + ") AS n" +
		", dense_rank() OVER (ORDER BY " + values + ") AS g" +
		", row_number() OVER (PARTITION BY " + values + " ORDER BY " + keys + ") AS r" +
		" FROM " + s.path + s.counted() + ") AS d WHERE n > 1 AND r <= " + strconv.Itoa(maxGroupRows) +
		" ORDER BY g, r LIMIT " + strconv.Itoa(m.opts.Samples*maxGroupRows)
	rows, err := m.db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err says what went wrong.
	last := int64(-1)
	for rows.Next() {
		var group int64
		cells := make([]sql.NullString, len(found.Key))
		targets := []any{&group}
		for i := range cells {
			targets = append(targets, &cells[i])
		}
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		if group != last {
			if len(found.Samples) == m.opts.Samples {
				return nil
			}
			found.Samples = append(found.Samples, nil)
			last = group
		}
		row := texts.Of(cells, func(cell sql.NullString) string { return cell.String })
		n := len(found.Samples) - 1
		found.Samples[n] = append(found.Samples[n], row)
	}
	return rows.Err()
}

// countNulls counts the rows without a value that the rule forbids.
func (m *maker) countNulls(ctx context.Context, s *shape, column string) (int64, error) {
	where := s.dialect.Quote(column) + " IS NULL"
	var n int64
	if err := m.db.QueryRowContext(ctx, "SELECT count(*) FROM "+s.path+" WHERE "+where).Scan(&n); err != nil {
		return 0, fmt.Errorf("look for rows without %s: %w", column, err)
	}
	return n, nil
}

// values lists what must not be the same twice.
func (s *shape) values() string {
	return strings.Join(texts.Of(s.keyParts(), func(p part) string { return p.value }), ", ")
}

// counted is the WHERE that leaves out the rows that cannot collide.
func (s *shape) counted() string {
	if where := s.counts(); where != "" {
		return " WHERE " + where
	}
	return ""
}

// counts is the condition of the rows that can collide.
func (s *shape) counts() string {
	var conditions []string
	if s.where != "" {
		conditions = append(conditions, s.where)
	}
	if s.rule.Nulls != rules.NullsSame {
		for _, p := range s.keyParts() {
			if p.nullable {
				conditions = append(conditions, "("+p.value+") IS NOT NULL")
			}
		}
	}
	return strings.Join(conditions, " AND ")
}

// selectDuplicates is the query for people: every row of every group, the
// groups one after the other.
func (s *shape) selectDuplicates() string {
	values := s.values()
	return "SELECT * FROM (SELECT t.*, count(*) OVER (PARTITION BY " + values + ") AS semel_same FROM " + s.path + " AS t" + s.counted() +
		") AS d WHERE semel_same > 1 ORDER BY " + values
}
