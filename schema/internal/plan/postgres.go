package plan

import (
	"context"
	_ "embed" // the statement below
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/schema/catalog"
)

//go:embed sql/partition_tree.sql
var treeText string

// maxPostgresName bounds the bytes that PostgreSQL keeps of a name.
const maxPostgresName = 63

// postgres writes the statements for PostgreSQL. None may run in a transaction.
func (m *maker) postgres(ctx context.Context, step *RuleStep, s *shape, nullable []string) error {
	for _, name := range nullable {
		m.postgresNotNull(step, s, name)
	}
	switch {
	case s.enforced() && !s.lookup:
		return nil
	case s.table.Kind == catalog.Partitioned:
		return m.partitions(ctx, step, s)
	}
	name, target := s.index, s.index
	old, taken := s.table.Index(s.index)
	replaces := taken && old.Valid
	if replaces {
		name = shorten(s.index+"_new", maxPostgresName)
		step.lost(old)
	}
	m.build(step, s, name)
	if replaces {
		m.replace(step, s, old, name)
	}
	if m.opts.Constraint && s.canBeConstraint() {
		m.brief(step)
		step.up("The index becomes a constraint of the table, in a moment.",
			"ALTER TABLE "+s.path+" ADD CONSTRAINT "+s.dialect.Quote(target)+" UNIQUE USING INDEX "+s.dialect.Quote(target))
		step.Down = append([]Statement{{SQL: "ALTER TABLE " + s.path + " DROP CONSTRAINT " + s.dialect.Quote(target)}}, step.Down...)
		return nil
	}
	step.Down = append([]Statement{{SQL: "DROP INDEX CONCURRENTLY " + s.sibling(target)}}, step.Down...)
	return nil
}

// build makes the index without stopping writers.
func (m *maker) build(step *RuleStep, s *shape, name string) {
	m.patient(step)
	step.up("An interrupted run leaves an index that enforces nothing; then run all of this again.",
		"DROP INDEX CONCURRENTLY IF EXISTS "+s.sibling(name))
	step.up("Others read and write meanwhile. It fails when a duplicate was added since the plan was made.",
		"CREATE "+s.kind()+" CONCURRENTLY "+s.dialect.Quote(name)+" ON "+s.path+s.tail())
}

// kind returns what to create.
func (s *shape) kind() string {
	if s.lookup {
		return "INDEX"
	}
	return "UNIQUE INDEX"
}

// tail returns the text after the table in CREATE INDEX.
func (s *shape) tail() string {
	text := " (" + s.keys() + ")"
	if s.nullsSame && !s.lookup {
		text += " NULLS NOT DISTINCT"
	}
	if s.where != "" {
		text += " WHERE " + s.where
	}
	return text
}

// replace puts the new index in the place of one that enforces something else.
func (m *maker) replace(step *RuleStep, s *shape, old *catalog.Index, name string) {
	m.brief(step)
	if old.Constraint != "" {
		step.up("The constraint of this name enforces something else.",
			"ALTER TABLE "+s.path+" DROP CONSTRAINT "+s.dialect.Quote(old.Constraint))
	} else {
		step.up("The index of this name enforces something else.", "DROP INDEX CONCURRENTLY "+s.sibling(old.Name))
	}
	step.up("", "ALTER INDEX "+s.sibling(name)+" RENAME TO "+s.dialect.Quote(s.index))
}

// canBeConstraint reports whether a constraint can express the rule.
func (s *shape) canBeConstraint() bool {
	return s.where == "" && !slices.ContainsFunc(s.parts, func(p part) bool {
		name, isColumn := p.expr.Column()
		return !isColumn || p.sql != s.dialect.Quote(name)
	})
}

// patient lets a statement that blocks no one wait for older transactions.
func (m *maker) patient(step *RuleStep) {
	step.session("Building an index blocks no reader or writer, and may wait long for older transactions to end.", "SET statement_timeout = 0")
	step.session("", "SET lock_timeout = '10min'")
}

// brief lets a statement that others must wait for give up soon.
func (m *maker) brief(step *RuleStep) {
	step.session("What follows takes a moment, but others wait behind it: rather fail than queue.",
		"SET lock_timeout = '"+strconv.FormatInt(m.opts.LockTimeout.Milliseconds(), 10)+"ms'")
}

// postgresNotNull forbids NULL without looking at the rows under a lock that
// stops others: with a proven check, SET NOT NULL does not look again.
func (m *maker) postgresNotNull(step *RuleStep, s *shape, column string) {
	alter := "ALTER TABLE " + s.path
	check := s.dialect.Quote(shorten("semel_"+s.table.Name+"_"+column+"_not_null", maxPostgresName))
	m.brief(step)
	step.up("An interrupted run leaves it.", alter+" DROP CONSTRAINT IF EXISTS "+check)
	step.up("New rows are looked at from now on.", alter+" ADD CONSTRAINT "+check+" CHECK ("+s.dialect.Quote(column)+" IS NOT NULL) NOT VALID")
	step.up("Old rows are looked at while others read and write.", alter+" VALIDATE CONSTRAINT "+check)
	step.up("", alter+" ALTER COLUMN "+s.dialect.Quote(column)+" SET NOT NULL")
	step.up("", alter+" DROP CONSTRAINT "+check)
	step.Down = append(step.Down, Statement{SQL: alter + " ALTER COLUMN " + s.dialect.Quote(column) + " DROP NOT NULL"})
}

// partition is one table of a partition tree.
type partition struct {
	schema, name  string
	parent        string // in SQL
	foreign, leaf bool
	// there and valid are about our index of the table; attached says that it is
	// a part of the parent's.
	there, valid, attached bool
	index                  string
}

// partitions makes the index on every leaf without stopping writers, and attaches
// them.
func (m *maker) partitions(ctx context.Context, step *RuleStep, s *shape) error {
	tree, err := m.readTree(ctx, s)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(tree, func(p partition) bool { return p.foreign }); i >= 0 {
		step.Refused = refusal("detach it, or bring it into this database", "the partition %s is a foreign table, which enforces nothing", tree[i].name)
		return nil
	}
	if old, taken := s.table.Index(s.index); taken && old.Valid {
		step.Refused = refusal("name another index in the rule, or drop this one first",
			"%s has an index %s that enforces something else", s.display, s.index)
		return nil
	}
	m.brief(step)
	for _, p := range tree {
		if !p.leaf && !p.there {
			step.up("It takes effect when every partition has its part.",
				"CREATE "+s.kind()+" "+s.dialect.Quote(p.index)+" ON ONLY "+p.path(s)+s.tail())
		}
	}
	m.leaves(step, s, tree)
	slices.Reverse(tree) // the deepest first
	m.brief(step)
	for _, p := range tree {
		if p.parent != "" && !p.attached {
			step.up("", "ALTER INDEX "+p.parent+" ATTACH PARTITION "+p.sibling(s))
		}
	}
	step.Down = append([]Statement{{
		Comment: "Readers and writers wait for a moment: the index of a partitioned table cannot be dropped concurrently.",
		SQL:     "DROP INDEX " + s.sibling(s.index),
	}}, step.Down...)
	return nil
}

// leaves makes the indexes of the leaves.
func (m *maker) leaves(step *RuleStep, s *shape, tree []partition) {
	patient := false
	for _, p := range tree {
		if !p.leaf || p.there && p.valid {
			continue
		}
		if !patient {
			m.patient(step)
			patient = true
		}
		if p.there {
			step.up("An interrupted run left it, and it enforces nothing.", "DROP INDEX CONCURRENTLY "+p.sibling(s))
		}
		step.up("", "CREATE "+s.kind()+" CONCURRENTLY "+s.dialect.Quote(p.index)+" ON "+p.path(s)+s.tail())
	}
}

func (p *partition) path(s *shape) string {
	return s.dialect.Quote(p.schema) + "." + s.dialect.Quote(p.name)
}

func (p *partition) sibling(s *shape) string {
	return s.dialect.Quote(p.schema) + "." + s.dialect.Quote(p.index)
}

// readTree reads the partition tree, parents first.
func (m *maker) readTree(ctx context.Context, s *shape) ([]partition, error) {
	rows, err := m.db.QueryContext(ctx, treeText, s.table.Schema, s.table.Name)
	if err != nil {
		return nil, fmt.Errorf("read the partitions of %s: %w", s.display, err)
	}
	defer rows.Close() //nolint:errcheck // Err says what went wrong.
	var tree []partition
	indexes := make(map[string]string) // of the tables that have partitions, in SQL
	for rows.Next() {
		var p partition
		var parentSchema, parentName string
		var found, valid, attached []byte
		if err := rows.Scan(&p.schema, &p.name, &parentSchema, &parentName, &p.leaf, &p.foreign, &found, &valid, &attached); err != nil {
			return nil, fmt.Errorf("read the partitions of %s: %w", s.display, err)
		}
		p.index = s.index
		if parentName != "" {
			p.index = shorten(p.name+"_"+s.index, maxPostgresName)
			p.parent = indexes[parentSchema+"."+parentName]
		}
		indexes[p.schema+"."+p.name] = p.sibling(s)
		names, valids, parts := strings.Split(string(found), "\x01"), strings.Split(string(valid), "\x01"), strings.Split(string(attached), "\x01")
		if i := slices.Index(names, p.index); i >= 0 {
			p.there, p.valid, p.attached = true, valids[i] == "t", parts[i] == "t"
		}
		tree = append(tree, p)
	}
	return tree, rows.Err()
}
