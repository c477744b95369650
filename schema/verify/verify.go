package verify

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/catalog"
)

const (
	// DefaultMaxRows bounds the rows of a table that are searched for duplicates.
	DefaultMaxRows = 1_000_000
	// DefaultTimeout bounds the search in one table.
	DefaultTimeout = 10 * time.Second
)

// Options say how far to look.
type Options struct {
	// MaxRows bounds the rows of a table that are searched for duplicates. Default
	// DefaultMaxRows; below 0 no rows are read at all.
	MaxRows int
	// Timeout bounds the search in one table. Default
	// DefaultTimeout.
	Timeout time.Duration
	// SQL are files with statements that write to the tables.
	SQL []SQLFile
	// Progress, when set, receives before each rule how many are done, how many
	// there are, and the next one's name; and once more at the end. It is not
	// called concurrently.
	Progress func(done, all int, rule string)
}

// Verify compares every uniqueness rule of the file with the database. It reads
// the catalog in one transaction, searches for duplicates only where nothing
// enforces a rule, and changes nothing. An error means that it could not look:
// the database was not reached, or the user lacks a right; what is wrong with
// the schema is in the report. Safe for concurrent use; a nil options is
// complete.
func Verify(ctx context.Context, db *sql.DB, d dialect.Dialect, file *rules.File, options *Options) (*Report, error) {
	if file == nil {
		return nil, errors.New("verify: no rules file is given")
	}
	o := Options{}
	if options != nil {
		o = *options
	}
	o.MaxRows, o.Timeout = cmp.Or(o.MaxRows, DefaultMaxRows), cmp.Or(max(0, o.Timeout), DefaultTimeout)
	schema, err := catalog.Read(ctx, db, d, schemas(d, file)...)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	v := &verifier{db: db, schema: schema, file: file, options: o, report: &Report{
		Version: formatVersion, Dialect: d.String(), Server: schema.Server, Rules: len(file.Unique),
		Findings: []Finding{}, Unread: []Unread{},
	}}
	if o.Progress == nil {
		o.Progress = func(int, int, string) {}
	}
	all := len(file.Unique)
	for i := range file.Unique {
		o.Progress(i, all, file.Unique[i].Name)
		if err := v.rule(ctx, &file.Unique[i]); err != nil {
			return nil, fmt.Errorf("verify: rule %s: %w", file.Unique[i].Name, err)
		}
	}
	o.Progress(all, all, "")
	v.sharedIndexes()
	for _, source := range o.SQL {
		v.sqlFile(source)
	}
	v.report.sort(file.Name)
	return v.report, nil
}

// schemas are the databases of MySQL that tables of the file are qualified with.
func schemas(d dialect.Dialect, file *rules.File) []string {
	var names []string
	for i := range file.Unique {
		name, _, qualified := strings.Cut(file.Unique[i].Table, ".")
		if d == dialect.MySQL && qualified && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// verifier is one run.
type verifier struct {
	db      *sql.DB
	schema  *catalog.Schema
	file    *rules.File
	options Options
	report  *Report
	checks  []*check // the rules whose table and columns are there
}

// check is one rule against its table.
type check struct {
	*verifier
	rule      *rules.Unique
	table     *catalog.Table
	types     expression.ColumnTypes
	wants     []want
	predicate expression.Predicate
	shapes    []shape
	// enforcedBy is the index that keeps the rule, with or without flaws; nil for
	// none, or several together.
	enforcedBy *shape
	enforced   bool
}

// add puts a finding on the rule into the report.
func (c *check) add(code Code, index, fix, format string, args ...any) *Finding {
	return c.verifier.add(c.rule, code, index, fix, format, args...)
}

func (v *verifier) add(rule *rules.Unique, code Code, index, fix, format string, args ...any) *Finding {
	v.report.Findings = append(v.report.Findings, Finding{
		Code: code, Severity: severityOf(code), Rule: rule.Name, Table: rule.Table, Index: index,
		File: v.file.Name, Line: rule.At.Line, Message: fmt.Sprintf(format, args...), Fix: fix,
	})
	return &v.report.Findings[len(v.report.Findings)-1]
}

// rule compares one rule.
func (v *verifier) rule(ctx context.Context, rule *rules.Unique) error {
	c := &check{verifier: v, rule: rule, predicate: rule.Predicate()}
	if !c.findTable() || !c.findColumns() {
		return nil
	}
	c.shapes = c.shapesOf(c.table)
	v.checks = append(v.checks, c)
	c.columns()
	if c.minted() {
		return nil
	}
	c.compare()
	if c.enforced || !c.readable() {
		return nil
	}
	return c.search(ctx)
}

// readable reports whether rows of the table can be grouped by the rule's terms.
func (c *check) readable() bool {
	return c.options.MaxRows > 0 && !slices.ContainsFunc(c.wants, func(w want) bool { return w.sql == "" })
}

// findTable finds the table of the rule, and what makes it useless.
func (c *check) findTable() bool {
	table, ok := c.schema.Table(c.rule.Table)
	if !ok {
		fix := "create it, correct table in the rules file, or GRANT SELECT ON it to this user"
		if near := c.schema.Near(c.rule.Table); near != "" {
			fix = "write " + near + " if that is meant"
		}
		c.add(codeMissingTable, "", fix, "table %s is not there", c.rule.Table)
		return false
	}
	c.table = table
	switch table.Kind {
	case catalog.View:
		c.add(codeView, "", "name the table below it", "%s is a view, which enforces nothing", c.rule.Table)
		return false
	case catalog.Foreign:
		c.add(codeForeignTable, "", "verify the rule on the server that has the rows", "%s is a foreign table, whose indexes are elsewhere", c.rule.Table)
		return false
	case catalog.Partition:
		c.add(codeOnPartition, "", "write "+table.Root, "%s is one partition of %s, and others can hold the same again", c.rule.Table, table.Root)
		return false
	case catalog.Plain, catalog.Partitioned:
	}
	if len(table.Children) > 0 {
		c.add(codeInheritance, "", "use partitions instead of inheritance, or a rule for each table",
			"%s inherits from %s, and no index of that knows its rows", strings.Join(table.Children, ", "), c.rule.Table)
	}
	if !table.Transactional() {
		c.add(codeEngine, "", "run: ALTER TABLE "+dialect.MySQL.QuotePath(c.rule.Table)+" ENGINE=InnoDB",
			"%s has the engine %s, which has no transactions", c.rule.Table, table.Engine)
	}
	return true
}

// findColumns finds the columns that the rule names, and reads its terms.
func (c *check) findColumns() bool {
	c.types = c.table.Types()
	var seen []string
	needed := slices.Concat(c.rule.Columns(), c.predicate.Columns())
	complete := true
	for _, name := range slices.Concat(needed, c.rule.MayChange, c.rule.MustNotChange, c.rule.Show) {
		if _, ok := c.table.Column(name); ok || slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		complete = complete && !slices.Contains(needed, name)
		fix := "add it, or correct the rule"
		if near := c.table.NearColumn(name); near != "" {
			fix = "write " + near + " if that is meant"
		}
		c.add(codeMissingColumn, "", fix, "table %s has no column %s", c.rule.Table, name)
	}
	if !complete {
		return false
	}
	for _, term := range c.rule.Terms() {
		w := want{
			term: term, raw: term.Raw[c.schema.Dialect],
			nullable: !term.Expr.NeverNull() && len(c.table.Nullable(term.Columns)) > 0,
		}
		text, err := term.Render(c.schema.Dialect, c.types)
		if wrong, ok := errors.AsType[*expression.Error](err); ok {
			c.add(codeNotIndexable, "", wrong.Fix, "%s cannot be indexed: %s", term.Text, wrong.Message)
		}
		w.sql = text
		c.wants = append(c.wants, w)
	}
	return true
}

// want is a term that an index must have.
type want struct {
	term     rules.Term
	raw      string // set where the rule has the words of the dialect
	sql      string // "" where the dialect has no words for it
	nullable bool
}
