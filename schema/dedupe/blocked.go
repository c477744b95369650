package dedupe

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/catalog"
)

// block leaves a unit merged, because rows that were added since are in the way of its own.
func (u *undoer) block(ctx context.Context, unit []int64, cause error) error {
	reason := strings.TrimPrefix(cause.Error(), ErrRefused.Error()+": ")
	for _, t := range u.tables {
		met, err := u.met(ctx, t, unit)
		if err != nil {
			return err
		}
		if met != "" {
			reason = met + " (" + reason + ")"
			break
		}
	}
	_, err := u.stay(ctx, [][]int64{unit}, map[int64]string{unit[0]: reason})
	return err
}

// stay leaves groups merged, each with the others of its unit, and returns the units that are left.
func (u *undoer) stay(ctx context.Context, units [][]int64, reasons map[int64]string) (left [][]int64, err error) {
	for _, unit := range units {
		var cause int64
		for _, grp := range unit {
			if reasons[grp] != "" {
				cause = grp
			}
		}
		if cause == 0 {
			left = append(left, unit)
			continue
		}
		for _, grp := range unit {
			reason := cmp.Or(reasons[grp], fmt.Sprintf("its rows come back with those of group %d", cause))
			k := Kept{Table: u.root, Reason: fmt.Sprintf("group %d stays merged: %s", grp, reason)}
			if err := u.one(ctx, "SELECT winner FROM semel_dedupe_map WHERE run = $1 AND grp = $2 LIMIT 1", []any{u.run, grp}, &k.Key); err != nil {
				return nil, err
			}
			u.stays[grp] = k
		}
	}
	return left, nil
}

// met names a row that has the values of a unique key which a row of the groups would have again; "" without one, and where the
// key is made of expressions only.
func (u *undoer) met(ctx context.Context, t *trail, groups []int64) (string, error) {
	for i := range t.catalog.Indexes {
		columns := t.compared(&t.catalog.Indexes[i])
		if len(columns) == 0 {
			continue
		}
		var other, own string
		err := u.one(ctx, t.meeting(columns, u.due(groups)), nil, &other, &own)
		switch {
		case err == nil:
			return fmt.Sprintf("the row %s of %s has the %s of the row %s", other, t.name, strings.Join(columns, ", "), own), nil
		case !errors.Is(err, sql.ErrNoRows):
			return "", err
		}
	}
	return "", nil
}

// compared are the columns of a unique index whose values rows keep; none where it compares something
// else as well, and for the identity, which [undoer.compareAll] compares.
func (t *trail) compared(x *catalog.Index) []string {
	if !x.Unique || x.Exclusion {
		return nil
	}
	stored := t.stored()
	var columns []string
	for _, p := range x.Parts {
		switch {
		case slices.Contains(stored, p.Column) && p.Prefix == 0:
			columns = append(columns, p.Column)
		case !marksOnly(t.column(p.Column)):
			return nil
		}
	}
	if slices.Equal(columns, t.id) {
		return nil
	}
	return columns
}

// marksOnly reports whether a generated column says no more than whether the row is merged.
func marksOnly(c *catalog.Column) bool { return strings.Contains(c.Generated, mergedInto) }

// meeting selects a row that is not merged, and the row of the audit whose columns it has.
func (t *trail) meeting(columns []string, where string) string {
	audit := "SELECT * FROM semel_dedupe_audit AS a WHERE " + where + " AND step < 3 AND tbl = " + t.literal(t.name)
	again := texts.Of(columns, func(name string) string {
		moved := "t." + quote(name)
		if slices.Contains(t.moved, name) {
			moved = "CASE WHEN a.step = 1 THEN " + t.past("a.old", name) + " ELSE " + moved + " END"
		}
		return "CASE WHEN a.old IS NULL THEN " + t.past("a.whole", name) + " ELSE " + moved + " END"
	})
	live := ""
	if _, marked := t.catalog.Column(mergedInto); marked {
		live = " AND x." + quote(mergedInto) + " IS NULL"
	}
	key := t.key(of("x", t.id))
	return "SELECT " + key + ", a.\"key\" FROM (" + audit + ") AS a LEFT JOIN " + t.path + " AS t ON " + t.here() + " JOIN " + t.path + " AS x ON " + equal(of("x", columns), again) +
		" WHERE NOT EXISTS (SELECT 1 FROM (" + audit + ") AS b WHERE b.\"key\" = " + key + ")" + live + " ORDER BY a.id LIMIT 1"
}
