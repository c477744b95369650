package plan

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
	"github.com/semel-dev/semel/internal/rules/spelling"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/catalog"
)

// maker makes the steps of one plan.
type maker struct {
	db      *sql.DB
	schema  *catalog.Schema
	opts    Options
	version int // of the server, the first number
}

// refusal makes a refusal, which is not an error: the plan goes on with the next rule.
func refusal(fix, why string, args ...any) *Refusal {
	return &Refusal{Why: fmt.Sprintf(why, args...), Fix: fix}
}

// unsayable refuses an expression that the dialect cannot express.
func unsayable(err error) *Refusal {
	if wrong, ok := errors.AsType[*expression.Error](err); ok {
		return refusal(wrong.Fix, "%s: %s", wrong.Text, wrong.Message)
	}
	return refusal("correct the rule", "%v", err)
}

// step plans for one rule; nil when there is nothing to do.
func (m *maker) step(ctx context.Context, u *rules.Unique) (*RuleStep, error) {
	step := &RuleStep{Rule: u.Name, Line: u.At.Line, Says: u.Says, Table: u.Table}
	want, refused := m.shape(u)
	if refused != nil {
		step.Refused = refused
		return step, nil
	}
	nullable := want.nullable(u)
	if want.enforced() && len(nullable) == 0 && want.table.Transactional() {
		return nil, nil //nolint:nilnil // nothing to do needs no step.
	}
	var err error
	if step.Refused, err = m.inTheWay(ctx, want, nullable); err != nil || step.Refused != nil {
		return step, err
	}
	switch m.schema.Dialect {
	case dialect.PostgreSQL:
		err = m.postgres(ctx, step, want, nullable)
	case dialect.MySQL:
		err = m.mysql(ctx, step, want, nullable)
	case dialect.SQLite:
		m.sqlite(step, want, nullable)
	}
	if step.Refused != nil {
		step.Up, step.Down = nil, nil
	} else if !want.table.Transactional() {
		want.table.Engine = "InnoDB" // for the rules that follow
	}
	return step, err
}

// inTheWay finds the rows that break the rule already.
func (m *maker) inTheWay(ctx context.Context, want *shape, nullable []string) (*Refusal, error) {
	for _, column := range nullable {
		n, err := m.countNulls(ctx, want, column)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			return refusal("give them a value, or let the rule say nulls: distinct or nulls: same",
				"%d rows of %s have no %s, which the rule forbids", n, want.display, column), nil
		}
	}
	if want.enforced() {
		return nil, nil //nolint:nilnil // nothing is in the way.
	}
	duplicates, err := m.duplicates(ctx, want)
	if why := catalog.Unreadable(err); why != "" {
		return refusal("correct the expression, or the constants after except", "the server cannot compare rows of %s by the rule: %s", want.display, why), nil
	}
	if err != nil || duplicates == nil {
		return nil, err
	}
	return &Refusal{
		Why:        fmt.Sprintf("%s has %s of rows that are the same by this rule", want.display, groups(duplicates.Groups)),
		Fix:        "merge or correct them (see: semel dedupe plan), then plan again",
		Duplicates: duplicates,
	}, nil
}

func groups(n int64) string {
	if n == 1 {
		return "1 group"
	}
	return strconv.FormatInt(n, 10) + " groups"
}

// majorVersion is the first number of a version.
func majorVersion(server string) int { return append(numbers(server), 0)[0] }

// atLeast compares the version of the server.
func (m *maker) atLeast(version ...int) bool {
	return slices.Compare(numbers(m.schema.Server), version) >= 0
}

// numbers are those of a version.
func numbers(server string) (all []int) {
	for digits := range strings.FieldsFuncSeq(server, func(r rune) bool { return r < '0' || r > '9' }) {
		n, _ := strconv.Atoi(digits) // 0 where it is too large
		all = append(all, n)
	}
	return all
}

func (m *maker) isMariaDB() bool { return strings.Contains(m.schema.Server, "MariaDB") }

// findTable finds the table that a rule names.
func (m *maker) findTable(name string) (*catalog.Table, *Refusal) {
	if table, ok := m.schema.Table(name); ok {
		return table, nil
	}
	fix := spelling.Ask(m.schema.Near(name), "correct the rule, or create the table first")
	return nil, refusal(fix, "the database has no table %s", name)
}

// findColumn finds a column of a table.
func findColumn(t *catalog.Table, name string) (*catalog.Column, *Refusal) {
	if column, ok := t.Column(name); ok {
		return column, nil
	}
	fix := spelling.Ask(t.NearColumn(name), "correct the rule, or add the column first")
	return nil, refusal(fix, "the table %s has no column %s", t.Name, name)
}
