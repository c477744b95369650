package lint

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/lint/judge"
	"github.com/semel-dev/semel/internal/lint/mysql"
	"github.com/semel-dev/semel/internal/lint/postgres"
	"github.com/semel-dev/semel/internal/lint/schema"
	"github.com/semel-dev/semel/internal/lint/sqlite"
	"github.com/semel-dev/semel/internal/lint/tree"
)

// Options are the settings of [Run]. Nil means all defaults.
type Options struct {
	// Dialect is postgresql, mysql (or mariadb) or sqlite. Empty: a word in the path of a file says it,
	// and otherwise the worst verdict of all dialects that can read the file counts.
	Dialect string
	// Schema names files and folders with the statements that define the tables, in their order:
	// DDL, or migrations of goose or golang-migrate. Without the definition of its table, no write is
	// called safe.
	Schema []string
}

// Run judges the statements of files, and of those of folders whose names end in .sql. An
// error means that something could not be read; a statement that no dialect can read is a finding.
// It returns the findings in the order of the files and statements, safe ones included.
func Run(ctx context.Context, paths []string, o *Options) ([]Finding, error) {
	if o == nil {
		o = &Options{}
	}
	dialects := dialect.All()
	if o.Dialect != "" {
		d, err := dialect.Parse(o.Dialect)
		if err != nil {
			return nil, fmt.Errorf("lint: %w", err)
		}
		dialects = []dialect.Dialect{d}
	}
	known, err := learn(dialects, o.Schema)
	if err != nil {
		return nil, err
	}
	files, err := load(paths)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("lint: no file whose name ends in .sql was found")
	}
	var all []Finding
	for i := range files {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("lint: %w", err)
		}
		found := dialects
		if d, ok := dialectOf(files[i].path); ok && len(dialects) > 1 {
			found = []dialect.Dialect{d}
		}
		all = append(all, files[i].judge(found, known)...)
	}
	return all, nil
}

var aboutTables = regexp.MustCompile(`(?i)\b(trigger|rule|alter|create)\b`)

// knowledge holds what the schema's files define, as one dialect reads them.
type knowledge struct {
	schema  *schema.Schema
	refused int // statements that its parser refuses
}

// learn reads the definitions of the tables, for each dialect.
func learn(dialects []dialect.Dialect, paths []string) (map[dialect.Dialect]knowledge, error) {
	files, err := load(paths)
	if err != nil {
		return nil, err
	}
	known := map[dialect.Dialect]knowledge{}
	for _, d := range dialects {
		k := knowledge{schema: &schema.Schema{}}
		for i := range files {
			if files[i].why != "" {
				return nil, fmt.Errorf("lint: %s: %s", files[i].path, files[i].why)
			}
			statements := parse(d, files[i].text)
			k.refused += refused(statements)
			for _, p := range statements {
				k.schema.Apply(p.Statement)
				// What a parser refuses may be a trigger, of any table.
				if o, ok := p.Statement.(*tree.Opaque); ok && aboutTables.MatchString(files[i].text[p.Start:p.End]) {
					k.schema.Doubt(fmt.Sprintf("%s: %s", files[i].path, o.Why))
				}
			}
		}
		known[d] = k
	}
	return known, nil
}

func parse(d dialect.Dialect, text string) []tree.Parsed {
	switch d {
	case dialect.PostgreSQL:
		return postgres.Parse(text)
	case dialect.MySQL:
		return mysql.Parse(text)
	case dialect.SQLite:
	}
	return sqlite.Parse(text)
}

// dialectOf looks for the name of a database in a path.
func dialectOf(path string) (dialect.Dialect, bool) {
	for word := range strings.FieldsFuncSeq(strings.ToLower(path), func(r rune) bool { return r < 'a' || r > 'z' }) {
		switch {
		case word == "pg" || strings.HasPrefix(word, "postgres") || word == "pgx" || word == "psql":
			return dialect.PostgreSQL, true
		case word == "mysql" || word == "mariadb":
			return dialect.MySQL, true
		case word == "sqlite":
			return dialect.SQLite, true
		}
	}
	return 0, false
}

// judge judges the statements of a file in the dialects that read it best.
func (f *file) judge(dialects []dialect.Dialect, known map[dialect.Dialect]knowledge) []Finding {
	if f.why != "" {
		return []Finding{{File: f.path, Line: 1, Column: 1, Verdict: CannotTell, Rule: string(judge.Opaque), Why: f.why}}
	}
	readings := map[dialect.Dialect][]tree.Parsed{}
	fewest := -1
	for _, d := range dialects {
		readings[d] = parse(d, f.text)
		if n := refused(readings[d]) + known[d].refused; fewest < 0 || n < fewest {
			fewest = n
		}
	}
	var all []Finding
	for _, d := range dialects {
		if refused(readings[d])+known[d].refused > fewest {
			continue
		}
		var found []Finding
		for n, p := range readings[d] {
			end := 0
			if n > 0 {
				end = readings[d][n-1].End
			}
			found = append(found, f.finding(p, end, judge.Statement(d, known[d].schema, p.Statement)))
		}
		all = worst(all, found)
	}
	return all
}

// refused counts the statements that a parser refuses, wholly or in part.
func refused(list []tree.Parsed) (n int) {
	for _, p := range list {
		why := ""
		switch st := p.Statement.(type) {
		case *tree.Opaque:
			why = st.Why
		case *tree.Define:
			why = st.Unreadable
			if st.Table != nil {
				why += st.Table.Unknown
			}
		}
		if strings.HasPrefix(why, "syntax error") {
			n++
		}
	}
	return n
}

// worst returns the worse verdict on each statement. Two dialects that divide a file differently
// are kept side by side.
func worst(a, b []Finding) []Finding {
	if a == nil {
		return b
	}
	same := slices.EqualFunc(a, b, func(x, y Finding) bool { return x.Line == y.Line && x.Column == y.Column })
	if !same {
		return append(a, b...)
	}
	for i := range a {
		if b[i].Verdict > a[i].Verdict {
			a[i] = b[i]
		}
	}
	return a
}
