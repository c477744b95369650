package dbguard

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"sync"
)

// maxRoots bounds the indexes that a translator remembers.
const maxRoots = 1024

// rootOfIndex finds an index by the name that PostgreSQL gives in an error, and
// its root where it is that of a partition.
//
//go:embed sql/root_of_index.sql
var rootOfIndex string

// columnsOfIndex reads the columns of an index of MySQL.
//
//go:embed sql/columns_of_index.sql
var columnsOfIndex string

// Resolve is [Translator.Translate], and where the name in the error belongs to
// no rule asks the database which index that is: on PostgreSQL an error on a
// partitioned table names the partition's index, and an index may have been
// made under another name than the rule's. What it finds is remembered.
//
// s must be able to run a statement: a pool, not the transaction that failed.
// When the database cannot be asked, the conflict is returned without a rule.
func (t *Translator) Resolve(ctx context.Context, s Session, err error) error {
	translated := t.Translate(err)
	c, ok := errors.AsType[*Conflict](translated)
	if !ok || c.Rule != nil || c.Index == "" || s.Dialect() == SQLite {
		return translated
	}
	v, ok := violationOf(err)
	if !ok { // translated before
		v, ok = violationOf(c.cause)
	}
	if !ok {
		return translated
	}
	found, known := t.roots.find(v, t.table)
	if !known {
		var asked error
		if found, asked = t.lookUp(ctx, s, v); asked != nil {
			return translated
		}
		t.roots.keep(v, t.table, found)
	}
	rule := t.find(violation{schema: found.schema, table: found.table, index: found.index})
	if rule == nil && found.columns != nil {
		rule = t.findColumns(found.table, found.columns)
	}
	if rule != nil {
		c.set(rule)
	}
	return translated
}

// lookUp asks the database about the index of a violation.
func (t *Translator) lookUp(ctx context.Context, s Session, v violation) (violation, error) {
	table := cmp.Or(v.table, t.table)
	found := violation{table: table, index: v.index}
	statement, args, dest := rootOfIndex, []any{v.schema, table, v.index}, []any{&found.schema, &found.table, &found.index}
	if s.Dialect() == MySQL {
		if table == "" {
			return violation{}, nil
		}
		statement, args, dest = columnsOfIndex, args[1:], nil
	}
	err := eachRow(ctx, s, statement, args, func(rows Rows) error {
		var column string
		err := rows.Scan(append(dest, &column)...)
		found.columns = append(found.columns, column)
		return err
	})
	if found.columns == nil { // the database has none
		found = violation{}
	}
	return found, err
}

// eachRow reads every row of a query.
func eachRow(ctx context.Context, s Session, statement string, args []any, read func(Rows) error) error {
	rows, err := s.Query(ctx, statement, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := read(rows); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// roots remembers what [Translator.Resolve] has found.
type roots struct {
	mu    sync.Mutex // guards the field below
	found map[[4]string]violation
}

func newRoots() *roots { return &roots{found: make(map[[4]string]violation)} }

func (r *roots) find(v violation, table string) (violation, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, ok := r.found[[4]string{v.schema, v.table, v.index, table}]
	return found, ok
}

func (r *roots) keep(v violation, table string, found violation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.found) >= maxRoots {
		clear(r.found)
	}
	r.found[[4]string{v.schema, v.table, v.index, table}] = found
}
