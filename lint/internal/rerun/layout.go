package rerun

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/sqltext"
	"github.com/semel-dev/semel/schema/catalog"
)

//go:embed sql/*.sql
var texts embed.FS

// text returns an embedded statement.
func text(d dialect.Dialect, name string) (string, error) {
	b, err := texts.ReadFile("sql/" + d.String() + "_" + name + ".sql")
	return string(b), err
}

// layout describes the tables of a copy, and what else a statement may reach through them.
type layout struct {
	dialect dialect.Dialect
	tables  []*table
	objects []object
	labels  map[string][]string // of enums, by the name of the type
	actors  map[string]bool     // functions of the server that may do more than compute
}

// table is a table that rows can be put into.
type table struct {
	*catalog.Table

	path    string // as statements name it
	key     []string
	foreign []foreign
	checks  []string
}

// foreign is a foreign key.
type foreign struct {
	columns, targets []string
	parent           *table
	acts             bool // it changes or deletes rows
}

// object is a view, a trigger, a rule or a routine.
type object struct{ name, table, text string }

// readLayout reads the layout of a database.
func readLayout(ctx context.Context, db *sql.DB, d dialect.Dialect) (*layout, error) {
	known, err := catalog.Read(ctx, db, d)
	if err != nil {
		return nil, err
	}
	l := &layout{dialect: d, labels: map[string][]string{}, actors: map[string]bool{}}
	for i := range known.Tables {
		t := &known.Tables[i]
		if t.Kind == catalog.View || t.Kind == catalog.Foreign || t.Kind == catalog.Partition || strings.HasPrefix(t.Name, "sqlite_") {
			continue
		}
		path := d.Quote(t.Name)
		if d == dialect.PostgreSQL {
			path = d.Quote(t.Schema) + "." + path
		}
		l.tables = append(l.tables, &table{Table: t, path: path, key: t.PrimaryKey()})
	}
	for name, add := range map[string]func([]string){"foreign": l.addForeign, "checks": l.addCheck, "objects": l.addObject, "labels": l.addLabel, "actors": l.addActor} {
		if err := l.read(ctx, db, name, add); err != nil {
			return nil, fmt.Errorf("read the %s of the copy: %w", name, err)
		}
	}
	return l, nil
}

// read runs an embedded query whose columns are texts.
func (l *layout) read(ctx context.Context, db *sql.DB, name string, add func([]string)) error {
	query, err := text(l.dialect, name)
	if errors.Is(err, fs.ErrNotExist) { // the dialect has none
		return nil
	}
	if err != nil {
		return err
	}
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err says what went wrong.
	_, lines, err := scan(rows)
	for _, line := range lines {
		cells := make([]string, len(line))
		for i, c := range line {
			cells[i] = c.String
		}
		add(cells)
	}
	return err
}

// scan reads all rows as texts, at most [maxRows].
func scan(rows *sql.Rows) (names []string, lines [][]sql.NullString, err error) {
	if names, err = rows.Columns(); err != nil {
		return nil, nil, err
	}
	for rows.Next() {
		line, into := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range line {
			into[i] = &line[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, nil, err
		}
		if lines = append(lines, line); len(lines) > maxRows {
			return nil, nil, errTooMany
		}
	}
	return names, lines, rows.Err()
}

func (l *layout) exact(schema, name string) *table {
	for _, t := range l.tables {
		if strings.EqualFold(t.Name, name) && (schema == "" || t.Schema == schema) {
			return t
		}
	}
	return nil
}

// addForeign reads schema, table, columns, the schema, table and columns that they refer to, and whether it acts. SQLite
// gives a row for each column.
func (l *layout) addForeign(row []string) {
	t, parent := l.exact(row[0], row[1]), l.exact(row[3], row[4])
	if t == nil || parent == nil {
		return
	}
	f := foreign{strings.Split(row[2], "\x01"), strings.Split(row[5], "\x01"), parent, row[6] == "1"}
	if row[5] == "" {
		f.targets = parent.key
	}
	if len(f.columns) == len(f.targets) {
		t.foreign = append(t.foreign, f)
	}
}

func (l *layout) addCheck(row []string) {
	if t := l.exact(row[0], row[1]); t != nil {
		t.checks = append(t.checks, row[2])
	}
}

func (l *layout) addObject(row []string) {
	l.objects = append(l.objects, object{row[0], row[1], row[2]})
}

func (l *layout) addLabel(row []string) { l.labels[row[0]] = append(l.labels[row[0]], row[1]) }

// words returns the words and names of a statement, in lower case.
func (l *layout) words(text string) map[string]bool {
	all := map[string]bool{}
	tokens, err := sqltext.Scan(l.dialect, text)
	if err != nil {
		return allWords(text)
	}
	for _, t := range tokens {
		if t.IsName() {
			all[strings.ToLower(t.Text)] = true
		}
	}
	return all
}

// allWords returns all words of a text, those in quotes as well: a routine has its body there.
func allWords(text string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		all[word] = true
	}
	return all
}

// reached returns the tables that a statement may read or write: those that it names, those behind views,
// functions and triggers, those that foreign keys change with them, and the parents of all these,
// before their children.
func (l *layout) reached(statement string) []*table {
	found, seen := map[*table]bool{}, map[string]bool{}
	l.reach(l.words(statement), found, seen)
	for again := true; again; {
		again = false
		for _, t := range l.tables {
			for _, f := range t.foreign {
				if f.acts && found[f.parent] && !found[t] {
					l.reach(map[string]bool{strings.ToLower(t.Name): true}, found, seen)
					again = true
				}
			}
		}
	}
	var order []*table
	done := map[*table]bool{}
	for _, t := range l.tables {
		if found[t] {
			order = withParents(t, done, order)
		}
	}
	return order
}

// reach adds the tables that words name.
func (l *layout) reach(words map[string]bool, found map[*table]bool, seen map[string]bool) {
	for _, t := range l.tables {
		if name := strings.ToLower(t.Name); words[name] && !found[t] {
			found[t] = true
			for _, o := range l.objects { // its triggers and rules
				if strings.EqualFold(o.table, t.Name) {
					l.reachObject(o, found, seen)
				}
			}
		}
	}
	for _, o := range l.objects {
		if words[strings.ToLower(o.name)] {
			l.reachObject(o, found, seen)
		}
	}
}

func (l *layout) reachObject(o object, found map[*table]bool, seen map[string]bool) {
	id := o.name + "." + o.table
	if seen[id] {
		return
	}
	seen[id] = true
	words := allWords(o.text)
	if words["execute"] || words["prepare"] { // it may name any table
		for _, t := range l.tables {
			words[strings.ToLower(t.Name)] = true
		}
	}
	l.reach(words, found, seen)
}

func withParents(t *table, done map[*table]bool, order []*table) []*table {
	if done[t] {
		return order
	}
	done[t] = true
	for _, f := range t.foreign {
		order = withParents(f.parent, done, order)
	}
	return append(order, t)
}

// unique reports whether a key holds the column alone, or together with others.
func (t *table) unique(column string) (found bool) {
	for i := range t.Indexes {
		if x := &t.Indexes[i]; x.Unique {
			found = found || slices.ContainsFunc(x.Parts, func(p catalog.Part) bool { return strings.EqualFold(p.Column, column) })
		}
	}
	return found
}

func (l *layout) addActor(row []string) { l.actors[row[0]] = true }
